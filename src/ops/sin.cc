// src/ops/sin.cc - sine. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_sin() {
  return {with_lower(
      unary_float("aten::sin(Tensor self) -> Tensor", floats<1>([](auto x) { return num::sin(x); }), "aten::sin.out"),
      lower_unary(XnnUnary::kSin), Agreement::kApproximate)};
}

}  // namespace edgewright::ops
