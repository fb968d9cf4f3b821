// An XNNPACK delegate payload: parsed, written again, parsed again.
#include <cstdint>
#include <cstdlib>

#include "format/xnn_payload.h"

using namespace edgewright;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = xnn::parse({reinterpret_cast<const std::byte*>(data), size});
  if (!graph) return 0;
  const auto pieces = xnn::build(*graph);
  if (!pieces) std::abort();
  const auto bytes = pieces->join();
  if (!xnn::parse(Bytes(bytes))) std::abort();
  return 0;
}
