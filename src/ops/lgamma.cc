// src/ops/lgamma.cc - log of the absolute value of the gamma function. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_lgamma() {
  return {unary_float("aten::lgamma(Tensor self) -> Tensor",
                      floats<1>([](auto x) { return num::other(x, [](double t) { return std::lgamma(t); }); }),
                      "aten::lgamma.out")};
}

}  // namespace edgewright::ops
