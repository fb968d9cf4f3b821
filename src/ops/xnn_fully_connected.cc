// src/ops/xnn_fully_connected.cc - xnn.fully_connected, xnn.batch_matmul: XNNPACK's products as they are.
#include "ops/products.h"
#include "ops/xnn_quant.h"
#include "ops/xnn_window.h"

namespace edgewright::ops {
namespace {

// x [..., k] with weight [n, k], or [k, n] where transposed.
Result<Types> rule_connected(const Call& c) {
  const TensorType &x = c.tensor("x"), &w = c.tensor("weight");
  if (x.rank() < 1 || w.rank() != 2) c.error("[xnn_fully_connected.1] x needs a dim, weight two");
  if (c.failed()) return Types{};
  const size_t n = c.flag("transposed_weight") ? 1 : 0;
  check_product(c, x, w, x.shape.back(), w.shape[1 - n]);
  if (!is_float(x.dtype)) c.error(fmt::format("[xnn_fully_connected.2] x is {}", name(x.dtype)));
  if (c.has("bias") && (c.tensor("bias").rank() != 1 || differ(c.tensor("bias").shape[0], w.shape[n]) ||
                        c.tensor("bias").dtype != x.dtype))
    c.error("[xnn_fully_connected.3] bias must have one element per output");
  clamp_of(c);
  Shape s = x.shape;
  s.back() = w.shape[n];
  return Types{TensorType{x.dtype, s}};
}
Contraction make_connected(const Call& c) {
  const TensorType& x = c.tensor("x");
  const int last = static_cast<int>(x.rank()) - 1;
  Contraction r{.dtype = x.dtype, .inner = {x.shape.back().value()}};
  r.a.operand = c.operand("x");
  for (int d = 0; d < last; ++d) r.a.from.push_back(d);
  r.a.from.push_back(~0);
  r.b = {c.operand("weight"), c.flag("transposed_weight") ? std::vector<int>{~0, last} : std::vector<int>{last, ~0}};
  if (c.has("bias")) {
    r.add = Side{c.operand("bias"), {last}};
    r.f.beta = {ir::ScalarKind::kInt, 1, 1};
  }
  const Clamp k = clamp_of(c);
  r.min = static_cast<double>(k.min);
  r.max = static_cast<double>(k.max);
  return r;
}

// a [..., m, k] @ b [..., k, n] with equal batch dims.
Result<Types> rule_batch(const Call& c) {
  const TensorType &a = c.tensor("a"), &b = c.tensor("b");
  if (a.rank() < 2 || a.rank() != b.rank()) c.error("[xnn_batch_matmul.1] operands must have one rank, at least 2");
  if (c.failed()) return Types{};
  const size_t r = a.rank();
  check_product(c, a, b, a.shape[r - 1], b.shape[r - 2]);
  for (size_t d = 0; d + 2 < r; ++d)
    if (differ(a.shape[d], b.shape[d])) c.error("[xnn_batch_matmul.2] batch dims differ");
  if (!is_float(a.dtype)) c.error(fmt::format("[xnn_batch_matmul.3] a is {}", name(a.dtype)));
  Shape s = a.shape;
  s[r - 1] = b.shape[r - 1];
  return Types{TensorType{a.dtype, s}};
}
Contraction make_batch(const Call& c) {
  const int r = static_cast<int>(c.type(0).rank());
  Contraction v{.dtype = c.type(0).dtype, .a = {0, {}}, .b = {1, {}}, .inner = {c.type(0).shape.back().value()}};
  for (int d = 0; d < r - 2; ++d) v.a.from.push_back(d), v.b.from.push_back(d);
  v.a.from.insert(v.a.from.end(), {r - 2, ~0});
  v.b.from.insert(v.b.from.end(), {~0, r - 1});
  return v;
}

}  // namespace

std::vector<OpDef> define_xnn_fully_connected() {
  const std::string schema =
      "xnn::fully_connected(Tensor x, Tensor weight, Tensor? bias=None, bool transposed_weight=False, float min=-inf, "
      "float max=inf) -> Tensor";
  OpDef connected = contraction(schema, rule_connected, make_connected);
  connected.lower = [](const ir::Node& n, XnnEmitter& out) -> Result<void> {
    const Call c = Call::of(n);
    const Clamp k = clamp_of(c);
    const bool transposed = c.flag("transposed_weight");
    if (c.failed()) return fail(Code::kKeptOnHost, "{}", *c.failed());
    return out.fully_connected(n.arg("x").value(), n.arg("weight").value(), n.arg("bias").value(), n.result(),
                               transposed, k);
  };
  OpDef batch = contraction("xnn::batch_matmul(Tensor a, Tensor b) -> Tensor", rule_batch, make_batch);
  batch.lower = [](const ir::Node& n, XnnEmitter& out) {
    return out.batch_matmul(n.arg("a").value(), n.arg("b").value(), n.result());
  };
  return {connected, batch, quantized("xnn::q_fully_connected", schema), dynamic("xnn::qd_fully_connected", schema),
          dynamic("xnn::qw_fully_connected", schema)};
}
}  // namespace edgewright::ops
