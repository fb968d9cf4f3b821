// src/ops/tanh.cc - hyperbolic tangent. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_tanh() {
  return {with_lower(unary_float("aten::tanh(Tensor self) -> Tensor", floats<1>([](auto x) { return num::tanh(x); }),
                                 "aten::tanh.out"),
                     lower_unary(XnnUnary::kTanh), Agreement::kApproximate)};
}

}  // namespace edgewright::ops
