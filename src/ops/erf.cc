// src/ops/erf.cc - error function. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_erf() {
  return {
      unary_float("aten::erf(Tensor self) -> Tensor", floats<1>([](auto x) { return num::erf(x); }), "aten::erf.out"),
      renamed("aten::special_erf(Tensor self) -> Tensor", "aten.erf")};
}

}  // namespace edgewright::ops
