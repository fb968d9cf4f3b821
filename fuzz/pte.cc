// A .pte file: loaded with all that a run needs, then run once on zeros.
#include "format/pte.h"

#include <cstdint>

#include "base/checked.h"
#include "runtime/program.h"

using namespace edgewright;

// A plan may rightly ask for much memory, which calloc then refuses or gives untouched; a fuzzer takes either for a fault.
static bool modest(const pte::Program& p) {
  constexpr int64_t kMost = 1 << 26;
  for (const pte::Plan& plan : p.plans) {
    for (int64_t b : plan.buffer_sizes)
      if (b > kMost) return false;
    for (const pte::Value& v : plan.values)
      if (const auto* t = std::get_if<pte::Tensor>(&v); t && pte::byte_size(*t) > kMost) return false;
  }
  return true;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = pte::parse({reinterpret_cast<const std::byte*>(data), size});
  if (!parsed || !modest(*parsed)) return 0;
  const auto program =
      runtime::Program::load({reinterpret_cast<const std::byte*>(data), size}, nullptr, {.max_instructions = 1000});
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
