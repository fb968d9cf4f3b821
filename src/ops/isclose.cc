// src/ops/isclose.cc - |self - other| <= atol + rtol * |other|, or equal; NaN equals NaN where equal_nan. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_isclose() {
  OpDef d = elementwise({.schema = "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
                         .slots = {"self", "other", cast("rtol"), cast("atol"), cast("equal_nan")},
                         .rule = Rule::kBool,
                         .formula = tests<5>([](double a, double b, double rtol, double atol, double nan) {
                                      return a == b || (nan != 0 && a != a && b != b) || (std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) <= atol + std::fabs(rtol * b));
                                    }).ints<5>([](int64_t a, int64_t b, int64_t, int64_t, int64_t) { return a == b; })});
  return {std::move(d)};
}

}  // namespace edgewright::ops
