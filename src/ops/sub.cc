// src/ops/sub.cc - self - alpha * other; not on bools. Depends on ops/scaled_sum.h.
#include "ops/scaled_sum.h"

namespace edgewright::ops {

std::vector<OpDef> define_sub() {
  const auto f = floats<3>([](auto a, auto b, auto alpha) {
                   return a - alpha * b;
                 }).ints<3>([](int64_t a, int64_t b, int64_t alpha) { return wrap_sub(a, wrap_mul(alpha, b)); });
  const auto scaled = [&](const char* schema, const char* stock) {
    return with_alpha_rule(with_lower(not_on_bools(elementwise({.schema = schema,
                                                                .slots = {"self", "other", cast("alpha")},
                                                                .rule = Rule::kPromote,
                                                                .formula = f,
                                                                .choose = {},
                                                                .stock = stock})),
                                      lower_scaled_sum(XnnBinary::kSubtract, "self", "other"), Agreement::kBitExact));
  };
  return {scaled("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "aten::sub.out"),
          scaled("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", "aten::sub.Scalar_out"),
          renamed("aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "aten.sub.Tensor"),
          renamed("aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", "aten.sub.Scalar")};
}

}  // namespace edgewright::ops
