// src/ops/xlogy.cc - self * log(other), 0 where self is 0. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_xlogy() {
  const auto f = floats<2>([](auto a, auto b) {
    if (num::value(b) != num::value(b)) return b;
    return num::unless_certain(num::value(a) == 0 ? decltype(a)(0.0) : a * num::log(b), num::certain(a, 0));
  });
  return {elementwise({.schema = "aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", .slots = {"self", "other"}, .rule = Rule::kFloat, .formula = f}),
          elementwise({.schema = "aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", .slots = {"self", "other"}, .rule = Rule::kFloat, .formula = f}),
          elementwise({.schema = "aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", .slots = {"self", "other"}, .rule = Rule::kFloat, .formula = f})};
}

}  // namespace edgewright::ops
