// src/ops/copysign.cc - self's size with other's sign. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_copysign() {
  const auto f = floats<2>([](auto a, auto b) { return num::other(a, b, [](double x, double y) { return std::copysign(x, y); }); });
  return {elementwise({.schema = "aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", .slots = {"self", "other"}, .rule = Rule::kFloat, .formula = f}),
          elementwise({.schema = "aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor", .slots = {"self", "other"}, .rule = Rule::kFloat, .formula = f})};
}

}  // namespace edgewright::ops
