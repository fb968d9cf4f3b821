// src/ops/sign.cc - -1, 0 or 1 (0 for NaN); also sgn, the same for real numbers. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_sign() {
  return {unary_same("aten::sign(Tensor self) -> Tensor",
                     floats<1>([](auto x) {
                       return num::step(x, [](double t) { return static_cast<double>((t > 0) - (t < 0)); });
                     }).ints<1>([](int64_t x) { return static_cast<int64_t>((x > 0) - (x < 0)); }),
                     "aten::sign.out")};
}

}  // namespace edgewright::ops
