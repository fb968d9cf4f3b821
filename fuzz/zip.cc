// A zip archive: its directory, then the content of every entry.
#include "read/zip.h"

#include <cstdint>

using namespace edgewright;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto z = read::ZipArchive::open({reinterpret_cast<const std::byte*>(data), size}, nullptr);
  if (z)
    for (const read::ZipEntry& e : (*z)->entries()) (void)(*z)->read(e);
  return 0;
}
