// src/ops/minimum.cc - elementwise minimum; NaN if either is NaN. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_minimum() {
  return {with_lower(binary("aten::minimum(Tensor self, Tensor other) -> Tensor",
                            Formula::both<2>([](auto a, auto b) { return num::minimum(a, b); }), "aten::minimum.out"),
                     lower_binary(XnnBinary::kMinimum))};
}

}  // namespace edgewright::ops
