// src/ops/cos.cc - cosine. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_cos() {
  return {with_lower(
      unary_float("aten::cos(Tensor self) -> Tensor", floats<1>([](auto x) { return num::cos(x); }), "aten::cos.out"),
      lower_unary(XnnUnary::kCos), Agreement::kApproximate)};
}

}  // namespace edgewright::ops
