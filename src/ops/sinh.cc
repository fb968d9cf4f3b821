// src/ops/sinh.cc - hyperbolic sine. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_sinh() {
  return {unary_float("aten::sinh(Tensor self) -> Tensor",
                      floats<1>([](auto x) { return num::other(x, [](double t) { return std::sinh(t); }); }),
                      "aten::sinh.out")};
}

}  // namespace edgewright::ops
