// src/ops/erfc.cc - 1 - erf(x), exact where erf is near 1. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_erfc() {
  return {with_decompose(unary_float("aten::erfc(Tensor self) -> Tensor", floats<1>([](auto x) {
                                       return num::other(x, [](double t) { return std::erfc(t); });
                                     })),
                         [](const ir::Node& n, Builder& b) {
                           // Absolute error stays that of erf; for large x the relative one does not.
                           return b.done({b("aten.rsub.Scalar", {b("aten.erf", {n.arg("self")}), 1})});
                         }),
          renamed("aten::special_erfc(Tensor self) -> Tensor", "aten.erfc")};
}

}  // namespace edgewright::ops
