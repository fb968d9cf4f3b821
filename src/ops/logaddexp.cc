// src/ops/logaddexp.cc - log of the sum of two exponentials, to base e or 2, without overflow. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

double log_sum(double x, double y) {
  if (x == y) return x + M_LN2;
  return x != x || y != y ? x + y : std::fmax(x, y) + std::log1p(std::exp(-std::fabs(x - y)));
}
double log_sum2(double x, double y) {
  if (x == y) return x + 1;
  return x != x || y != y ? x + y : std::fmax(x, y) + std::log1p(std::exp2(-std::fabs(x - y))) / M_LN2;
}

OpDef of(const char* schema, Formula f, bool base2) {
  OpDef d = elementwise({.schema = schema, .slots = {"self", "other"}, .rule = Rule::kPromote, .formula = f});
  d.decompose = [base2](const ir::Node& n, Builder& b) {
    const ir::Arg x = n.arg("self"), y = n.arg("other");
    ir::Value* apart = b("aten.neg", {b("aten.abs", {b("aten.sub.Tensor", {x, y})})});
    ir::Value* rest = b("aten.log1p", {b(base2 ? "aten.exp2" : "aten.exp", {apart})});
    if (base2) rest = b("aten.div.Scalar", {rest, M_LN2});
    ir::Value* high = b("aten.maximum", {x, y});
    // Equal infinities: their difference is NaN.
    ir::Value* equal = b("aten.add.Scalar", {high, base2 ? 1.0 : M_LN2});
    return b.done({b("aten.where.self", {b("aten.eq.Tensor", {x, y}), equal, b("aten.add.Tensor", {high, rest})})});
  };
  return d;
}

}  // namespace

std::vector<OpDef> define_logaddexp() {
  return {of("aten::logaddexp(Tensor self, Tensor other) -> Tensor",
             floats<2>([](auto a, auto b) { return num::other(a, b, log_sum); }), false),
          of("aten::logaddexp2(Tensor self, Tensor other) -> Tensor",
             floats<2>([](auto a, auto b) { return num::other(a, b, log_sum2); }), true)};
}

}  // namespace edgewright::ops
