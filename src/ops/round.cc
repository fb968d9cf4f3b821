// src/ops/round.cc - rounds to nearest, ties to even; with decimals, in units of 10^-decimals. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_round() {
  const auto even = floats<1>([](auto x) {
                      return num::step(x, [](double t) { return std::nearbyint(t); });
                    }).ints<1>([](int64_t x) { return x; });
  OpDef decimals =
      elementwise({.schema = "aten::round.decimals(Tensor self, *, int decimals) -> Tensor",
                   .slots = {"self", cast("decimals")},
                   .formula = floats<2>([](auto x, auto) { return x; }).ints<2>([](int64_t x, int64_t) { return x; }),
                   .choose = {}});
  // Its meaning is the steps, each rounded to the dtype: 1.45 * 10 is 14.5 in f32, and goes to 14.
  decimals.eval = nullptr;
  decimals.whole = nullptr;
  decimals.decompose = [](const ir::Node& n, Builder& b) {
    const int64_t places = n.arg("decimals").i() ? *n.arg("decimals").i() : 0;
    if (!is_float(n.result()->tensor()->dtype)) return b.done({n.arg("self").value()});
    if (places == 0) return b.done({b("aten.round", {n.arg("self")})});
    // Halves are computed in f32, and rounded once.
    const DType t = n.result()->tensor()->dtype;
    const bool half = t == DType::f16 || t == DType::bf16;
    ir::Value* x = n.arg("self").value();
    if (half) x = b("aten._to_copy", {x, DType::f32});
    const double ten = std::pow(10.0, static_cast<double>(std::abs(places)));
    const char *first = places > 0 ? "aten.mul.Tensor" : "aten.div.Tensor",
               *second = places > 0 ? "aten.div.Tensor" : "aten.mul.Tensor";
    ir::Value* y = b(second, {b("aten.round", {b(first, {x, ten})}), ten});
    return b.done({half ? b("aten._to_copy", {y, t}) : y});
  };
  return {with_lower(unary_same("aten::round(Tensor self) -> Tensor", even, "aten::round.out"),
                     lower_unary(XnnUnary::kBankersRounding), Agreement::kBitExact),
          std::move(decimals),
          renamed("aten::special_round(Tensor self, *, int decimals=0) -> Tensor", "aten.round.decimals")};
}

}  // namespace edgewright::ops
