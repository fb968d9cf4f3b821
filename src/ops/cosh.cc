// src/ops/cosh.cc - hyperbolic cosine. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_cosh() {
  return {unary_float("aten::cosh(Tensor self) -> Tensor",
                      floats<1>([](auto x) { return num::other(x, [](double t) { return std::cosh(t); }); }),
                      "aten::cosh.out")};
}

}  // namespace edgewright::ops
