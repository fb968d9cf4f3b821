// src/ops/sinc.cc - sin(pi x) / (pi x), 1 at 0. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
std::vector<OpDef> define_sinc() {
  return {with_decompose(unary_float("aten::sinc(Tensor self) -> Tensor", floats<1>([](auto x) {
                                       return num::other(
                                           x, [](double t) { return t == 0 ? 1.0 : std::sin(M_PI * t) / (M_PI * t); });
                                     })),
                         [](const ir::Node& n, Builder& b) {
                           const ir::Arg x = n.arg("self");
                           ir::Value* angle = b("aten.mul.Scalar", {x, M_PI});
                           ir::Value* quotient = b("aten.div.Tensor", {b("aten.sin", {angle}), angle});
                           return b.done({b("aten.where.ScalarSelf", {b("aten.eq.Scalar", {x, 0}), 1.0, quotient})});
                         })};
}

}  // namespace edgewright::ops
