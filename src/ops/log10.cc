// src/ops/log10.cc - logarithm to base 10. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_log10() {
  return {unary_float("aten::log10(Tensor self) -> Tensor", floats<1>([](auto x) { return num::log10(x); }),
                      "aten::log10.out")};
}

}  // namespace edgewright::ops
