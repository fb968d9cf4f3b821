// Graph text with the real ops: whatever is accepted is sound, and its print reads back to the same print.
#include <cstdint>

#include "ops/verify.h"

using namespace edgewright;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ir::ParseContext c = ops::parse_context();
  const auto p = ir::parse(text, c);
  if (!p) {
    EW_CHECK(p.error().code == Code::kMalformed);
    (void)ir::parse_cases(text, c);
    return 0;
  }
  if (!ir::verify_structure(*p->graph)) return 0;  // a state written twice and the like is the verifier's to refuse
  const ir::PrintOptions o{.inline_elements = INT64_MAX, .ranges = &p->ranges};
  const std::string once = ir::print(*p->graph, o);
  const auto again = ir::parse(once, c);
  EW_CHECK(again.has_value());
  EW_CHECK(ir::print(*again->graph, {.inline_elements = INT64_MAX, .ranges = &again->ranges}) == once);
  EW_CHECK(again->graph->hash() == p->graph->hash());
  return 0;
}
