#include <cstdio>
#include <cstdlib>

#include "base/result.h"

namespace edgewright {

void check_failed(const char* cond, std::source_location where) {
  std::fprintf(stderr, "edgewright: internal fault: %s does not hold at %s:%u\n", cond, where.file_name(),
               where.line());
  std::abort();
}

}  // namespace edgewright
