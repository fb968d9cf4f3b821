// src/ops/exp.cc - e to the power of each element. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_exp() {
  return {with_lower(
      unary_float("aten::exp(Tensor self) -> Tensor", floats<1>([](auto x) { return num::exp(x); }), "aten::exp.out"),
      lower_unary(XnnUnary::kExp), Agreement::kApproximate)};
}

}  // namespace edgewright::ops
