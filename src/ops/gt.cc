// src/ops/gt.cc - a > b, elementwise. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_gt() {
  const auto f = tests<2>([](double a, double b) { return a > b; }).ints<2>([](int64_t a, int64_t b) { return a > b; });
  return {comparison("aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", f, "aten::gt.Tensor_out"),
          comparison("aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", f, "aten::gt.Scalar_out"),
          renamed("aten::greater.Tensor(Tensor self, Tensor other) -> Tensor", "aten.gt.Tensor"),
          renamed("aten::greater.Scalar(Tensor self, Scalar other) -> Tensor", "aten.gt.Scalar")};
}

}  // namespace edgewright::ops
