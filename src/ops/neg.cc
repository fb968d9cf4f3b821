// src/ops/neg.cc - -x; unsigned ints wrap. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_neg() {
  return {with_lower(unary_same("aten::neg(Tensor self) -> Tensor",
                                floats<1>([](auto x) { return -x; }).ints<1>([](int64_t x) { return wrap_sub(0, x); }),
                                "aten::neg.out"),
                     lower_unary(XnnUnary::kNegate), Agreement::kBitExact),
          renamed("aten::negative(Tensor self) -> Tensor", "aten.neg")};
}

}  // namespace edgewright::ops
