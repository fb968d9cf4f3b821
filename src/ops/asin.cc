// src/ops/asin.cc - arc sine. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_asin() {
  return {unary_float("aten::asin(Tensor self) -> Tensor",
                      floats<1>([](auto x) { return num::other(x, [](double t) { return std::asin(t); }); }),
                      "aten::asin.out"),
          renamed("aten::arcsin(Tensor self) -> Tensor", "aten.asin")};
}

}  // namespace edgewright::ops
