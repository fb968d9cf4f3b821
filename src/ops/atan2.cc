// src/ops/atan2.cc - angle of the point (other, self). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_atan2() {
  return {elementwise({.schema = "aten::atan2(Tensor self, Tensor other) -> Tensor",
                       .slots = {"self", "other"},
                       .rule = Rule::kFloat,
                       .formula = floats<2>([](auto a, auto b) {
                         return num::other(a, b, [](double y, double x) { return std::atan2(y, x); });
                       }),
                       .choose = {},
                       .stock = "aten::atan2.out"}),
          renamed("aten::arctan2(Tensor self, Tensor other) -> Tensor", "aten.atan2")};
}

}  // namespace edgewright::ops
