// src/ops/logaddexp2.cc - log of the sum of two exponentials, to base 2, without overflow. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_logaddexp2() {
  return {elementwise({.schema = "aten::logaddexp2(Tensor self, Tensor other) -> Tensor", .slots = {"self", "other"}, .rule = Rule::kPromote, .formula = floats<2>([](auto a, auto b) {
                       return num::other(a, b, [](double x, double y) {
                         if (std::isinf(x) && x == y) return x;
                         const double high = std::fmax(x, y);
                         return x != x || y != y ? x + y : high + std::log2(1 + std::exp2(-std::fabs(x - y)));
                       });
                     })})};
}

}  // namespace edgewright::ops
