// src/ops/rsub.cc - other - alpha * self; not on bools. Depends on ops/scaled_sum.h.
#include "ops/scaled_sum.h"

namespace edgewright::ops {

std::vector<OpDef> define_rsub() {
  const auto f = floats<3>([](auto a, auto b, auto alpha) {
                   return b - alpha * a;
                 }).ints<3>([](int64_t a, int64_t b, int64_t alpha) { return wrap_sub(b, wrap_mul(alpha, a)); });
  const auto scaled = [&](const char* schema, const char* stock) {
    return with_alpha_rule(with_lower(not_on_bools(elementwise({.schema = schema,
                                                                .slots = {"self", "other", cast("alpha")},
                                                                .rule = Rule::kPromote,
                                                                .formula = f,
                                                                .choose = {},
                                                                .stock = stock})),
                                      lower_scaled_sum(XnnBinary::kSubtract, "other", "self"), Agreement::kBitExact));
  };
  OpDef tensor = scaled("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "");
  tensor.decompose = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten.sub.Tensor", {n.arg("other"), n.arg("self"), n.arg("alpha")})});
  };
  return {std::move(tensor),
          scaled("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", "aten::rsub.Scalar_out")};
}

}  // namespace edgewright::ops
