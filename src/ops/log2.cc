// src/ops/log2.cc - logarithm to base 2. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_log2() {
  return {unary_float("aten::log2(Tensor self) -> Tensor", floats<1>([](auto x) { return num::log2(x); }),
                      "aten::log2.out")};
}

}  // namespace edgewright::ops
