// src/ops/softshrink.cc - x moved by lambd towards 0, and not across. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_softshrink() {
  return {with_decompose(
      elementwise({.schema = "aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
                   .slots = {"self", cast("lambd")},
                   .rule = Rule::kPromote,
                   .formula = floats<2>([](auto x, auto l) {
                     const auto zero = decltype(x)(0.0);
                     return num::value(x) != num::value(x) ? x : num::maximum(x - l, zero) + num::minimum(x + l, zero);
                   })}),
      [](const ir::Node& n, Builder& b) {
        const ir::Arg x = n.arg("self"), l = n.arg("lambd");
        return b.done({b("aten.add.Tensor", {b("aten.relu", {b("aten.sub.Scalar", {x, l})}),
                                             b("aten.clamp", {b("aten.add.Scalar", {x, l}), ir::Arg(), 0})})});
      })};
}

}  // namespace edgewright::ops
