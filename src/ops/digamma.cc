// src/ops/digamma.cc - aten.digamma, aten.erfinv: functions that the C++ library lacks. Depends on base/special.h, ops/families.h.
#include "base/special.h"
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_digamma() {
  return {unary_float("aten::digamma(Tensor self) -> Tensor",
                      floats<1>([](auto x) { return num::other(x, [](double t) { return digamma(t); }); }),
                      "aten::digamma.out"),
          unary_float("aten::erfinv(Tensor self) -> Tensor",
                      floats<1>([](auto x) { return num::other(x, [](double t) { return erfinv(t); }); }),
                      "aten::erfinv.out")};
}

}  // namespace edgewright::ops
