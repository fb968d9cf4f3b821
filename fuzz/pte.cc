// A .pte file: loaded with all that a run needs, then run once on zeros.
#include <cstdint>

#include "base/checked.h"
#include "runtime/program.h"

using namespace edgewright;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto program = runtime::Program::load({reinterpret_cast<const std::byte*>(data), size}, nullptr, {.max_instructions = 1000});
  if (!program) return 0;
  for (const std::string& name : (*program)->method_names()) {
    const auto method = (*program)->method(name);
    if (!method) continue;
    for (size_t i = 0; i < (*method)->num_inputs(); ++i) {
      const runtime::ValueInfo info = (*method)->input_info(i);
      const auto n = checked_numel(info.sizes);
      if (info.tag != runtime::Tag::kTensor || info.unbounded || !n || *n > 1 << 16) continue;
      const std::vector<std::byte> zeros(static_cast<size_t>(*n) * size_of(info.dtype));
      (void)(*method)->set_input(i, info.dtype, info.sizes, Bytes(zeros));
    }
    if ((*method)->arena_bytes() < 1 << 24) (void)(*method)->execute();
  }
  return 0;
}
