// src/ops/ge.cc - a >= b, elementwise. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_ge() {
  const auto f =
      tests<2>([](double a, double b) { return a >= b; }).ints<2>([](int64_t a, int64_t b) { return a >= b; });
  return {comparison("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", f, "aten::ge.Tensor_out"),
          comparison("aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", f, "aten::ge.Scalar_out"),
          renamed("aten::greater_equal.Tensor(Tensor self, Tensor other) -> Tensor", "aten.ge.Tensor"),
          renamed("aten::greater_equal.Scalar(Tensor self, Scalar other) -> Tensor", "aten.ge.Scalar")};
}

}  // namespace edgewright::ops
