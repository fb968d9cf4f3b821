// src/ops/tan.cc - tangent. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_tan() {
  return {unary_float("aten::tan(Tensor self) -> Tensor",
                      floats<1>([](auto x) { return num::other(x, [](double t) { return std::tan(t); }); }),
                      "aten::tan.out")};
}

}  // namespace edgewright::ops
