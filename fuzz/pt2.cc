// A whole .pt2 file. Most damage ends at a checksum; pt2_json, pickle and zip look below.
#include "read/pt2.h"

#include <cstdint>
#include <cstring>

using namespace edgewright;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto r = read::read_pt2_bytes({reinterpret_cast<const std::byte*>(data), size}, nullptr);
  if (r)
    for (const ir::Program& p : *r) EW_CHECK(ir::verify_structure(*p.graph).has_value());
  return 0;
}
