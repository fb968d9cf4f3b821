// src/ops/maximum.cc - elementwise maximum; NaN if either is NaN. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_maximum() {
  return {with_lower(binary("aten::maximum(Tensor self, Tensor other) -> Tensor",
                            Formula::both<2>([](auto a, auto b) { return num::maximum(a, b); }), "aten::maximum.out"),
                     lower_binary(XnnBinary::kMaximum))};
}

}  // namespace edgewright::ops
