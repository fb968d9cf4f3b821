// src/ops/logit.cc - log(x / (1 - x)), x first clamped to [eps, 1 - eps] where eps is given. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

// Near 1 the rounding of the upper bound shows in the fourth digit: it is a number of the dtype, as PyTorch has it.
template <DType T>
Formula formula() {
  return floats<2>([](auto x, auto eps) {
    using R = decltype(x);
    const R one(1.0);
    const double e = num::value(eps);
    const R y = e < 0 ? x : num::minimum(num::maximum(x, eps), R(cast_f(T, 1.0 - e)));
    return num::log(y / (one - y));
  });
}

}  // namespace

std::vector<OpDef> define_logit() {
  return {elementwise({.schema = "aten::logit(Tensor self, float? eps=None) -> Tensor",
                       .slots = {"self", Slot("eps", Slot::kCast, Scalar{ir::ScalarKind::kFloat, 0, -1.0})},
                       .rule = Rule::kFloat,
                       .formula = {},
                       .choose = [](const Call& c) -> Formula {
                         switch (c.tensor("self").dtype) {
                           case DType::f64: return formula<DType::f64>();
                           case DType::f16: return formula<DType::f16>();
                           case DType::bf16: return formula<DType::bf16>();
                           default: return formula<DType::f32>();
                         }
                       },
                       .stock = "aten::logit.out"})};
}

}  // namespace edgewright::ops
