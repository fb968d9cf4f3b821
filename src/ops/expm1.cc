// src/ops/expm1.cc - exp(x) - 1, exact near 0. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_expm1() {
  return {unary_float("aten::expm1(Tensor self) -> Tensor", floats<1>([](auto x) { return num::expm1(x); }),
                      "aten::expm1.out"),
          renamed("aten::special_expm1(Tensor self) -> Tensor", "aten.expm1")};
}

}  // namespace edgewright::ops
