// src/ops/acos.cc - arc cosine. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_acos() {
  return {unary_float("aten::acos(Tensor self) -> Tensor",
                      floats<1>([](auto x) { return num::other(x, [](double t) { return std::acos(t); }); }),
                      "aten::acos.out"),
          renamed("aten::arccos(Tensor self) -> Tensor", "aten.acos")};
}

}  // namespace edgewright::ops
