// src/ops/bilinear.cc - aten.bilinear: out[..., o] = sum over i, j of x1[..., i] weight[o, i, j] x2[..., j], plus bias.
#include "ops/dense.h"

namespace edgewright::ops {
namespace {

Result<Types> rule(const Call& c) {
  const TensorType &a = c.tensor("input1"), &b = c.tensor("input2"), &w = c.tensor("weight");
  if (a.rank() < 1 || a.rank() != b.rank() || w.rank() != 3) c.error("[bilinear.1] ranks do not fit");
  if (c.failed()) return Types{};
  if (!is_float(a.dtype) || a.dtype != b.dtype || a.dtype != w.dtype)
    c.error("[bilinear.2] operands must have one float dtype");
  bool ok = !differ(a.shape.back(), w.shape[1]) && !differ(b.shape.back(), w.shape[2]);
  for (size_t d = 0; d + 1 < a.rank(); ++d) ok = ok && !differ(a.shape[d], b.shape[d]);
  if (c.has("bias"))
    ok = ok && c.rank("bias") == 1 && !differ(c.tensor("bias").shape[0], w.shape[0]) &&
         c.tensor("bias").dtype == a.dtype;
  if (!ok) c.error("[bilinear.3] sizes do not fit");
  Shape s = a.shape;
  s.back() = w.shape[0];
  return Types{TensorType{a.dtype, s}};
}

Result<Point> eval(const Call& c, size_t) {
  const int64_t n = c.tensor("weight").shape[1].value(), m = c.tensor("weight").shape[2].value();
  const int bias = c.operand("bias");
  return float_point([=](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    IndexBuffer x;
    std::copy(at.begin(), at.end(), x.begin());
    Sum<R> sum;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < m; ++j) {
        const std::array<int64_t, 3> w{at.back(), i, j};
        x[at.size() - 1] = i;
        const R a = in.f(0, Index(x.data(), at.size()));
        x[at.size() - 1] = j;
        sum.add(a * in.f(2, w) * in.f(1, Index(x.data(), at.size())));
      }
    if (bias >= 0) sum.add(in.f(bias, Index(&at.back(), 1)));
    return sum.get();
  });
}

// (x1 times weight, per output) * x2, summed.
Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const Shape& w = c.tensor("weight").shape;
  if (!ir::is_static(w)) return std::vector<ir::Value*>{};
  const int64_t o = w[0].value(), i = w[1].value(), j = w[2].value();
  // [o, i, j] -> [o * j, i]
  ir::Value* matrix =
      b("aten.reshape", {b("aten.permute", {n.arg("weight"), ir::Arg::ints({0, 2, 1})}), ir::Arg::ints({o * j, i})});
  ir::Value* y = b("aten.unflatten.int", {b("aten.linear", {n.arg("input1"), matrix}), -1, ir::Arg::ints({o, j})});
  y = b("aten.sum.dim_IntList",
        {b("aten.mul.Tensor", {y, b("aten.unsqueeze", {n.arg("input2"), -2})}), ir::Arg::ints({-1})});
  if (!n.arg("bias").is_none()) y = b("aten.add.Tensor", {y, n.arg("bias")});
  return b.done({y});
}

}  // namespace

std::vector<OpDef> define_bilinear() {
  OpDef d;
  d.schema_text = "aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor";
  d.infer = rule;
  d.eval = eval;
  d.decompose = decompose;
  d.agreement = Agreement::kReassociated;
  return {d};
}
}  // namespace edgewright::ops
