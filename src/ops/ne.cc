// src/ops/ne.cc - a != b, elementwise. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_ne() {
  const auto f =
      tests<2>([](double a, double b) { return a != b; }).ints<2>([](int64_t a, int64_t b) { return a != b; });
  return {comparison("aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", f, "aten::ne.Tensor_out"),
          comparison("aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", f, "aten::ne.Scalar_out"),
          renamed("aten::not_equal.Tensor(Tensor self, Tensor other) -> Tensor", "aten.ne.Tensor"),
          renamed("aten::not_equal.Scalar(Tensor self, Scalar other) -> Tensor", "aten.ne.Scalar")};
}

}  // namespace edgewright::ops
