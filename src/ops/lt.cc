// src/ops/lt.cc - a < b, elementwise. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_lt() {
  const auto f = tests<2>([](double a, double b) { return a < b; }).ints<2>([](int64_t a, int64_t b) { return a < b; });
  return {comparison("aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", f, "aten::lt.Tensor_out"),
          comparison("aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", f, "aten::lt.Scalar_out"),
          renamed("aten::less.Tensor(Tensor self, Tensor other) -> Tensor", "aten.lt.Tensor"),
          renamed("aten::less.Scalar(Tensor self, Scalar other) -> Tensor", "aten.lt.Scalar")};
}

}  // namespace edgewright::ops
