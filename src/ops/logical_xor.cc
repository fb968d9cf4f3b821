// src/ops/logical_xor.cc - exactly one nonzero (NaN counts as nonzero). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_logical_xor() {
  return {comparison("aten::logical_xor(Tensor self, Tensor other) -> Tensor",
                     tests<2>([](double a, double b) {
                       return (a != 0) != (b != 0);
                     }).ints<2>([](int64_t a, int64_t b) { return (a != 0) != (b != 0); }),
                     "aten::logical_xor.out")};
}

}  // namespace edgewright::ops
