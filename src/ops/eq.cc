// src/ops/eq.cc - a == b, elementwise. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_eq() {
  const auto f =
      tests<2>([](double a, double b) { return a == b; }).ints<2>([](int64_t a, int64_t b) { return a == b; });
  return {comparison("aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", f, "aten::eq.Tensor_out"),
          comparison("aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", f, "aten::eq.Scalar_out")};
}

}  // namespace edgewright::ops
