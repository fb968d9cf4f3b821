// src/ops/sqrt.cc - square root. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_sqrt() {
  return {with_lower(unary_float("aten::sqrt(Tensor self) -> Tensor", floats<1>([](auto x) { return num::sqrt(x); }),
                                 "aten::sqrt.out"),
                     lower_unary(XnnUnary::kSquareRoot), Agreement::kBitExact)};
}

}  // namespace edgewright::ops
