// src/ops/le.cc - a <= b, elementwise. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_le() {
  const auto f =
      tests<2>([](double a, double b) { return a <= b; }).ints<2>([](int64_t a, int64_t b) { return a <= b; });
  return {comparison("aten::le.Tensor(Tensor self, Tensor other) -> Tensor", f, "aten::le.Tensor_out"),
          comparison("aten::le.Scalar(Tensor self, Scalar other) -> Tensor", f, "aten::le.Scalar_out"),
          renamed("aten::less_equal.Tensor(Tensor self, Tensor other) -> Tensor", "aten.le.Tensor"),
          renamed("aten::less_equal.Scalar(Tensor self, Scalar other) -> Tensor", "aten.le.Scalar")};
}

}  // namespace edgewright::ops
