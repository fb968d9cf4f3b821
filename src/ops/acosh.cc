// src/ops/acosh.cc - inverse hyperbolic cosine. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_acosh() {
  return {unary_float("aten::acosh(Tensor self) -> Tensor",
                      floats<1>([](auto x) { return num::other(x, [](double t) { return std::acosh(t); }); }),
                      "aten::acosh.out"),
          renamed("aten::arccosh(Tensor self) -> Tensor", "aten.acosh")};
}

}  // namespace edgewright::ops
