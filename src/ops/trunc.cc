// src/ops/trunc.cc - rounds towards 0; ints stay. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_trunc() {
  return {unary_same("aten::trunc(Tensor self) -> Tensor", floats<1>([](auto x) {
                                                             return num::step(x,
                                                                              [](double t) { return std::trunc(t); });
                                                           }).ints<1>([](int64_t x) { return x; }),
                     "aten::trunc.out"),
          renamed("aten::fix(Tensor self) -> Tensor", "aten.trunc")};
}

}  // namespace edgewright::ops
