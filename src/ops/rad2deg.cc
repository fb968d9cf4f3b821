// src/ops/rad2deg.cc - radians to degrees. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_rad2deg() {
  return {with_decompose(
      unary_float("aten::rad2deg(Tensor self) -> Tensor",
                  floats<1>([](auto x) { return x * decltype(x)(180 / M_PI); })),
      [](const ir::Node& n, Builder& b) { return b.done({b("aten.mul.Tensor", {n.arg("self"), 180 / M_PI})}); })};
}

}  // namespace edgewright::ops
