// src/ops/linear.cc - aten.linear: x [..., k] times the transpose of weight [n, k] (or [k]), plus bias.
#include "ops/products.h"

namespace edgewright::ops {
namespace {

Result<Types> rule(const Call& c) {
  const TensorType &x = c.tensor("input"), &w = c.tensor("weight");
  if (x.rank() < 1) c.error("[linear.1] input has no dims");
  if (w.rank() != 2 && w.rank() != 1) c.error("[linear.2] weight must have rank 2 or 1");
  if (c.failed()) return Types{};
  check_product(c, x, w, x.shape.back(), w.shape.back());
  Shape out(x.shape.begin(), x.shape.end() - 1);
  if (w.rank() == 2) out.push_back(w.shape[0]);
  if (c.has("bias")) {
    const TensorType& b = c.tensor("bias");
    if (b.dtype != x.dtype) c.error("[linear.3] bias has another dtype");
    const Shape both = broadcast(c, b.shape, out);
    if (both.size() != out.size()) c.error("[linear.4] bias has more dims than the result");
    for (size_t d = 0; d < out.size() && !c.failed(); ++d)
      if (differ(both[d], out[d])) c.error("[linear.4] bias does not expand to the result");
  }
  return Types{TensorType{x.dtype, out}};
}

Contraction make(const Call& c) {
  const TensorType &x = c.tensor("input"), &w = c.tensor("weight");
  Contraction r{.dtype = x.dtype, .inner = {x.shape.back().value()}};
  r.a.operand = c.operand("input");
  for (size_t d = 0; d + 1 < x.rank(); ++d) r.a.from.push_back(static_cast<int>(d));
  r.a.from.push_back(~0);
  r.b = {c.operand("weight"),
         w.rank() == 2 ? std::vector<int>{static_cast<int>(x.rank()) - 1, ~0} : std::vector<int>{~0}};
  if (c.has("bias")) {
    r.add = broadcast_side(c, c.operand("bias"), x.rank() - (w.rank() == 1 ? 1 : 0));
    r.f.beta = {ir::ScalarKind::kInt, 1, 1};
  }
  return r;
}

Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  const ir::Value *x = n.arg("input").value(), *w = n.arg("weight").value(), *bias = n.arg("bias").value();
  if (w->tensor()->rank() != 2) return fail(Code::kKeptOnHost, "the weight is a vector");
  if (bias && bias->tensor()->rank() != 1) return fail(Code::kKeptOnHost, "the bias is not a vector");
  if (bias && bias->tensor()->shape[0] != w->tensor()->shape[0]) return fail(Code::kKeptOnHost, "the bias broadcasts");
  return out.fully_connected(x, w, bias, n.result(), false);
}

}  // namespace

std::vector<OpDef> define_linear() {
  OpDef d = contraction("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", rule, make,
                        "aten::linear.out");
  d.lower = lower;
  return {d};
}
}  // namespace edgewright::ops
