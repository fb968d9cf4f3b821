// src/ops/cosine_similarity.cc - aten.cosine_similarity: the product of two vectors along a dim, each divided by its length
// (at least eps).
#include "ops/dense.h"

namespace edgewright::ops {
namespace {

Shape common(const Call& c) { return broadcast(c, c.type(0).shape, c.type(1).shape); }

Result<Types> rule(const Call& c) {
  const TensorType &a = c.tensor("x1"), &b = c.tensor("x2");
  if (!is_float(a.dtype) || !is_float(b.dtype)) c.error("[cosine_similarity.1] operands must be floats");
  Shape s = common(c);
  const int64_t d = c.axis("dim", static_cast<int64_t>(s.size()));
  if (c.failed()) return Types{};
  if (!s.empty()) s.erase(s.begin() + d);
  return Types{TensorType{result_type(c, {"x1", "x2"}), s}};
}

Result<Point> eval(const Call& c, size_t) {
  const Shape s = common(c);
  const auto dim = static_cast<size_t>(c.axis("dim", static_cast<int64_t>(s.size())));
  const int64_t n = s.empty() ? 1 : s[dim].value();
  const double eps = cast_f(result_type(c, {"x1", "x2"}), c.f("eps"));  // in half floats it vanishes
  const std::vector<int64_t> a = ir::static_sizes(c.type(0).shape), b = ir::static_sizes(c.type(1).shape);
  return float_point([=, rank = s.size()](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    IndexBuffer full, x, y;
    for (size_t d = 0, k = 0; d < rank; ++d)
      if (d != dim) full[d] = at[k++];
    Sum<R> xy, xx, yy;
    for (int64_t i = 0; i < n; ++i) {
      if (rank > 0) full[dim] = i;
      const R u = in.f(0, broadcast_index(Index(full.data(), rank), a, x)),
              v = in.f(1, broadcast_index(Index(full.data(), rank), b, y));
      xy.add(u * v);
      xx.add(u * u);
      yy.add(v * v);
    }
    return xy.get() / (num::maximum(num::sqrt(xx.get()), R(eps)) * num::maximum(num::sqrt(yy.get()), R(eps)));
  });
}

Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const Shape s = common(c);
  const int64_t d = c.axis("dim", static_cast<int64_t>(s.size()));
  if (c.failed() || s.empty()) return std::vector<ir::Value*>{};
  // The dim counts in the broadcast shape; from the end it is the same in both operands.
  const ir::Arg axis = ir::Arg::ints({d - static_cast<int64_t>(s.size())});
  ir::Value *x = n.arg("x1").value(), *y = n.arg("x2").value();
  if (x->tensor()->shape != s || y->tensor()->shape != s) return std::vector<ir::Value*>{};
  const auto sum = [&](ir::Value* u, ir::Value* v) {
    return b("aten.sum.dim_IntList", {b("aten.mul.Tensor", {u, v}), axis});
  };
  const auto length = [&](ir::Value* v) { return b("aten.clamp_min", {b("aten.sqrt", {sum(v, v)}), n.arg("eps")}); };
  return b.done({b("aten.div.Tensor", {sum(x, y), b("aten.mul.Tensor", {length(x), length(y)})})});
}

}  // namespace

std::vector<OpDef> define_cosine_similarity() {
  OpDef d;
  d.schema_text = "aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor";
  d.infer = rule;
  d.eval = eval;
  d.decompose = decompose;
  d.agreement = Agreement::kReassociated;
  return {d};
}
}  // namespace edgewright::ops
