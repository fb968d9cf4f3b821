// src/ops/ceil.cc - rounds up; ints stay. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_ceil() {
  return {with_lower(unary_same("aten::ceil(Tensor self) -> Tensor", floats<1>([](auto x) {
                                                                       return num::step(
                                                                           x, [](double t) { return std::ceil(t); });
                                                                     }).ints<1>([](int64_t x) { return x; }),
                                "aten::ceil.out"),
                     lower_unary(XnnUnary::kCeiling), Agreement::kBitExact)};
}

}  // namespace edgewright::ops
