// src/ops/frac.cc - the part after the point, with the sign of x. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_frac() {
  return {with_decompose(unary_same("aten::frac(Tensor self) -> Tensor", floats<1>([](auto x) {
                                      return x - num::step(x, [](double t) { return std::trunc(t); });
                                    })),
                         [](const ir::Node& n, Builder& b) {
                           return b.done({b("aten.sub.Tensor", {n.arg("self"), b("aten.trunc", {n.arg("self")})})});
                         })};
}

}  // namespace edgewright::ops
