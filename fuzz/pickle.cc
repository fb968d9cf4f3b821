// A pickle over one storage of 64 bytes, whatever its key.
#include "read/pickle.h"

#include <cstdint>

using namespace edgewright;

namespace {
struct OneStorage final : read::PickleStorages {
  Result<read::Bytes> find(const std::string&) override {
    static const auto owner = std::make_shared<const std::array<double, 8>>();
    return read::Bytes{std::as_bytes(std::span(*owner)), owner, true};
  }
};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  OneStorage storages;
  const auto p = read::read_pickle({reinterpret_cast<const std::byte*>(data), size}, storages);
  if (p)
    for (const read::PyObject& o : p->objects)
      if (const auto* t = o.as<ir::Tensor>()) (void)t->contiguous();  // every element lies inside the storage
  return 0;
}
