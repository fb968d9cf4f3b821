// src/ops/abs.cc - absolute value; the smallest int stays itself. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_abs() {
  return {with_lower(unary_same("aten::abs(Tensor self) -> Tensor", floats<1>([](auto x) {
                                                                      return num::abs(x);
                                                                    }).ints<1>([](int64_t x) { return num::abs(x); }),
                                "aten::abs.out"),
                     lower_unary(XnnUnary::kAbs), Agreement::kBitExact),
          renamed("aten::absolute(Tensor self) -> Tensor", "aten.abs")};
}

}  // namespace edgewright::ops
