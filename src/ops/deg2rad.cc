// src/ops/deg2rad.cc - degrees to radians. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_deg2rad() {
  return {with_decompose(
      unary_float("aten::deg2rad(Tensor self) -> Tensor",
                  floats<1>([](auto x) { return x * decltype(x)(M_PI / 180); })),
      [](const ir::Node& n, Builder& b) { return b.done({b("aten.mul.Tensor", {n.arg("self"), M_PI / 180})}); })};
}

}  // namespace edgewright::ops
