// src/ops/logit.cc - log(x / (1 - x)), x first clamped to [eps, 1 - eps] where eps is given. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_logit() {
  OpDef d = elementwise({.schema = "aten::logit(Tensor self, float? eps=None) -> Tensor",
                         .slots = {"self", Slot("eps", Slot::kCast, Scalar{ir::ScalarKind::kFloat, 0, -1.0})},
                         .rule = Rule::kFloat,
                         .formula = floats<2>([](auto x, auto eps) {
                           const auto one = decltype(x)(1.0);
                           const auto y = num::value(eps) < 0 ? x : num::minimum(num::maximum(x, eps), one - eps);
                           return num::log(y / (one - y));
                         }),
                         .choose = {},
                         .stock = "aten::logit.out"});
  return {std::move(d)};
}

}  // namespace edgewright::ops
