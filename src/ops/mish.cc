// src/ops/mish.cc - x * tanh(softplus(x)). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_mish() {
  return {with_decompose(
      unary_same("aten::mish(Tensor self) -> Tensor",
                 floats<1>([](auto x) { return x * num::tanh(num::log1p(num::exp(x))); })),
      [](const ir::Node& n, Builder& b) {
        return b.done({b("aten.mul.Tensor", {n.arg("self"), b("aten.tanh", {b("aten.softplus", {n.arg("self")})})})});
      })};
}

}  // namespace edgewright::ops
