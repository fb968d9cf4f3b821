// src/ops/where.cc - self where the condition holds, other elsewhere. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_where() {
  const auto f = Formula::both<3>([](auto c, auto a, auto b) {
    auto chosen = num::select(c, a, b);
    if constexpr (std::is_same_v<decltype(a), Bounded>)  // a condition that rounding could change: either value
      if (c.e > 0) chosen.e = std::max(a.e + std::fabs(chosen.v - a.v), b.e + std::fabs(chosen.v - b.v));
    return chosen;
  });
  const auto of = [&](const char* schema, const char* stock) {
    OpDef d = elementwise({.schema = schema,
                           .slots = {as_is("condition"), "self", "other"},
                           .rule = Rule::kPromote,
                           .formula = f,
                           .choose = {},
                           .stock = stock});
    if (!*stock) d.decompose = numbers_to_tensors("aten.where.self");
    return d;
  };
  return {of("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", "aten::where.self_out"),
          of("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", ""),
          of("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", ""),
          of("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", "")};
}

}  // namespace edgewright::ops
