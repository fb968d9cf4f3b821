// src/ops/atanh.cc - inverse hyperbolic tangent. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_atanh() {
  return {unary_float("aten::atanh(Tensor self) -> Tensor",
                      floats<1>([](auto x) { return num::other(x, [](double t) { return std::atanh(t); }); }),
                      "aten::atanh.out"),
          renamed("aten::arctanh(Tensor self) -> Tensor", "aten.atanh")};
}

}  // namespace edgewright::ops
