// The JSON of a model without tensors.
#include <cstdint>

#include "read/program.h"

using namespace edgewright;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto doc = read::parse_json({reinterpret_cast<const char*>(data), size});
  if (!doc) return 0;
  const auto p = read::build_program((*doc)->root, {}, {});
  if (p) EW_CHECK(ir::verify_structure(*p->graph).has_value());
  return 0;
}
