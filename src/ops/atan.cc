// src/ops/atan.cc - arc tangent. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_atan() {
  return {unary_float("aten::atan(Tensor self) -> Tensor", floats<1>([](auto x) { return num::atan(x); }),
                      "aten::atan.out"),
          renamed("aten::arctan(Tensor self) -> Tensor", "aten.atan")};
}

}  // namespace edgewright::ops
