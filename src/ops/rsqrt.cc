// src/ops/rsqrt.cc - 1 / sqrt(x). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_rsqrt() {
  return {with_lower(unary_float("aten::rsqrt(Tensor self) -> Tensor", floats<1>([](auto x) { return num::rsqrt(x); }),
                                 "aten::rsqrt.out"),
                     lower_unary(XnnUnary::kReciprocalSquareRoot), Agreement::kApproximate)};
}

}  // namespace edgewright::ops
