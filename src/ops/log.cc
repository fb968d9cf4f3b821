// src/ops/log.cc - natural logarithm. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_log() {
  return {with_lower(
      unary_float("aten::log(Tensor self) -> Tensor", floats<1>([](auto x) { return num::log(x); }), "aten::log.out"),
      lower_unary(XnnUnary::kLog), Agreement::kApproximate)};
}

}  // namespace edgewright::ops
