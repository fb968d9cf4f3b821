// src/ops/round.cc - rounds to nearest, ties to even; with decimals, in units of 10^-decimals. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_round() {
  const auto even = floats<1>([](auto x) { return num::step(x, [](double t) { return std::nearbyint(t); }); }).ints<1>([](int64_t x) { return x; });
  OpDef decimals = elementwise({.schema = "aten::round.decimals(Tensor self, *, int decimals) -> Tensor",
                                .slots = {"self", cast("decimals")},
                                .formula = floats<2>([](auto x, auto d) {
                                             return num::other(x, d, [](double t, double n) {
                                               if (n == 0) return std::nearbyint(t);
                                               const double ten = std::pow(10.0, std::fabs(n));
                                               return n > 0 ? std::nearbyint(t * ten) / ten : std::nearbyint(t / ten) * ten;
                                             });
                                           }).ints<2>([](int64_t x, int64_t) { return x; }),
                                .choose = {}});
  decimals.decompose = [](const ir::Node& n, Builder& b) {
    const double ten = std::pow(10.0, n.arg("decimals").i() ? static_cast<double>(*n.arg("decimals").i()) : 0.0);
    if (!is_float(n.result()->tensor()->dtype)) return b.done({n.arg("self").value()});
    return b.done({b("aten.div.Tensor", {b("aten.round", {b("aten.mul.Tensor", {n.arg("self"), ten})}), ten})});
  };
  return {with_lower(unary_same("aten::round(Tensor self) -> Tensor", even, "aten::round.out"), lower_unary(XnnUnary::kBankersRounding), Agreement::kBitExact), std::move(decimals),
          renamed("aten::special_round(Tensor self, *, int decimals=0) -> Tensor", "aten.round.decimals")};
}

}  // namespace edgewright::ops
