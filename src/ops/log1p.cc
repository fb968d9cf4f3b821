// src/ops/log1p.cc - log(1 + x), exact near 0. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_log1p() {
  return {unary_float("aten::log1p(Tensor self) -> Tensor", floats<1>([](auto x) { return num::log1p(x); }),
                      "aten::log1p.out"),
          renamed("aten::special_log1p(Tensor self) -> Tensor", "aten.log1p")};
}

}  // namespace edgewright::ops
