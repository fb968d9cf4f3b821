// src/ops/add.cc - self + alpha * other. Depends on ops/scaled_sum.h.
#include "ops/scaled_sum.h"

namespace edgewright::ops {

std::vector<OpDef> define_add() {
  const auto f = floats<3>([](auto a, auto b, auto alpha) {
                   return a + alpha * b;
                 }).ints<3>([](int64_t a, int64_t b, int64_t alpha) { return wrap_add(a, wrap_mul(alpha, b)); });
  const auto scaled = [&](const char* schema, const char* stock) {
    return with_alpha_rule(with_lower(elementwise({.schema = schema,
                                                   .slots = {"self", "other", cast("alpha")},
                                                   .rule = Rule::kPromote,
                                                   .formula = f,
                                                   .choose = {},
                                                   .stock = stock}),
                                      lower_scaled_sum(XnnBinary::kAdd, "self", "other"), Agreement::kBitExact));
  };
  return {scaled("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "aten::add.out"),
          scaled("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", "aten::add.Scalar_out")};
}

}  // namespace edgewright::ops
