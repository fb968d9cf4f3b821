// src/ops/hardshrink.cc - x where |x| > lambd, 0 elsewhere. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_hardshrink() {
  return {with_decompose(
      elementwise({.schema = "aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor",
                   .slots = {"self", cast("lambd")},
                   .rule = Rule::kPromote,
                   .formula = floats<2>([](auto x, auto l) {
                     const double v = num::value(x), t = num::value(l);
                     return num::unless_certain(v >= -t && v <= t ? decltype(x)(0.0) : x,
                                                num::certain(x, t) && num::certain(x, -t));
                   })}),
      [](const ir::Node& n, Builder& b) {
        return b.done({b("aten.where.ScalarSelf",
                         {b("aten.le.Scalar", {b("aten.abs", {n.arg("self")}), n.arg("lambd")}), 0, n.arg("self")})});
      })};
}

}  // namespace edgewright::ops
