// src/ops/asinh.cc - inverse hyperbolic sine. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_asinh() {
  return {unary_float("aten::asinh(Tensor self) -> Tensor",
                      floats<1>([](auto x) { return num::other(x, [](double t) { return std::asinh(t); }); }),
                      "aten::asinh.out"),
          renamed("aten::arcsinh(Tensor self) -> Tensor", "aten.asinh")};
}

}  // namespace edgewright::ops
