#include "driver/dump.h"

#include "format/safetensors.h"
#include "ir/text.h"

namespace edgewright::driver {

Result<void> dump(const std::string& stem, const ir::Program& p) {
  std::vector<std::pair<std::string, ir::Tensor>> sidecar;
  const std::string text = ir::print(*p.graph, {.origins = true, .ranges = &p.ranges, .sidecar = &sidecar});
  EW_TRY(write_file(stem + ".ir", std::as_bytes(std::span(text))));
  if (sidecar.empty()) return {};
  std::vector<NamedTensor> tensors;
  for (auto& [name, t] : sidecar) {
    const ir::Tensor c = t.contiguous();
    tensors.push_back({name, {c.dtype, c.sizes, c.bytes(), c.owner}});
  }
  return safetensors::write(stem + ".safetensors", tensors);
}

}  // namespace edgewright::driver
