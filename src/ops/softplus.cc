// src/ops/softplus.cc - log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_softplus() {
  OpDef d = elementwise({.schema = "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
                         .slots = {"self", cast("beta"), cast("threshold")},
                         .rule = Rule::kPromote,
                         .formula = floats<3>([](auto x, auto beta, auto threshold) {
                           const auto y = x * beta;
                           return num::branch(y, threshold, num::log1p(num::exp(y)) / beta, x);
                         })});
  // max(y, 0) + log1p(exp(-|y|)) is the same number without overflow, and y where exp(-|y|) is lost.
  d.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const double beta = constant_number(n, "beta").value_or(1),
                 threshold = constant_number(n, "threshold").value_or(20);
    ir::Value* x = n.arg("self").value();
    ir::Value* y = beta == 1 ? x : b("aten.mul.Scalar", {x, beta});
    ir::Value* small = b("aten.log1p", {b("aten.exp", {b("aten.neg", {b("aten.abs", {y})})})});
    ir::Value* r = b("aten.add.Tensor", {b("aten.relu", {y}), small});
    if (beta != 1) r = b("aten.div.Scalar", {r, beta});
    if (threshold < 20) r = b("aten.where.self", {b("aten.gt.Scalar", {y, threshold}), x, r});
    return b.done({r});
  };
  return {std::move(d)};
}

}  // namespace edgewright::ops
