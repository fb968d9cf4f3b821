// src/ops/logical_or.cc - either nonzero (NaN counts as nonzero). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_logical_or() {
  return {comparison("aten::logical_or(Tensor self, Tensor other) -> Tensor",
                     tests<2>([](double a, double b) {
                       return (a != 0) || (b != 0);
                     }).ints<2>([](int64_t a, int64_t b) { return (a != 0) || (b != 0); }),
                     "aten::logical_or.out")};
}

}  // namespace edgewright::ops
