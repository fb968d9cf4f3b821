// src/ops/sigmoid.cc - 1 / (1 + exp(-x)). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_sigmoid() {
  return {with_lower(unary_float("aten::sigmoid(Tensor self) -> Tensor",
                                 floats<1>([](auto x) { return num::sigmoid(x); }), "aten::sigmoid.out"),
                     lower_unary(XnnUnary::kSigmoid), Agreement::kApproximate),
          renamed("aten::special_expit(Tensor self) -> Tensor", "aten.sigmoid")};
}

}  // namespace edgewright::ops
