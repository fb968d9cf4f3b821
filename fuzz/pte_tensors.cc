// Files of tensors: the first byte chooses safetensors or npy.
#include <cstdint>

#include "format/npy.h"
#include "format/safetensors.h"

using namespace edgewright;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Bytes file(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    const auto t = safetensors::parse(file, nullptr, "input");
    if (t) (void)safetensors::build(*t).join();
  } else {
    const auto t = npy::parse(file, nullptr, "input");
    if (t && t->bytes.size() < 1 << 20) (void)npy::build(*t);
  }
  return 0;
}
