// src/ops/hypot.cc - sqrt(self^2 + other^2), without overflow on the way. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_hypot() {
  return {with_decompose(
      elementwise({.schema = "aten::hypot(Tensor self, Tensor other) -> Tensor",
                   .slots = {"self", "other"},
                   .rule = Rule::kPromote,
                   .formula = floats<2>([](auto a, auto b) {
                     return num::other(a, b, [](double x, double y) { return std::hypot(x, y); });
                   })}),
      [](const ir::Node& n, Builder& b) {
        return b.done(
            {b("aten.sqrt", {b("aten.add.Tensor", {b("aten.mul.Tensor", {n.arg("self"), n.arg("self")}),
                                                   b("aten.mul.Tensor", {n.arg("other"), n.arg("other")})})})});
      })};
}

}  // namespace edgewright::ops
