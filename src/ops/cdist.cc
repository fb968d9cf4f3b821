// src/ops/cdist.cc - aten.cdist, _cdist_forward: p-norm distances between all rows of x1 [..., p, m] and x2 [..., r, m].
#include "ops/p_norm.h"

namespace edgewright::ops {
namespace {

Result<Types> rule(const Call& c) {
  const TensorType &a = c.tensor("x1"), &b = c.tensor("x2");
  if (a.rank() < 2 || b.rank() < 2) c.error("[cdist.1] operands need two dims");
  if (!is_float(a.dtype) || a.dtype != b.dtype) c.error("[cdist.2] operands must have one float dtype");
  if (c.failed()) return Types{};
  if (differ(a.shape.back(), b.shape.back())) c.error("[cdist.3] rows have different lengths");
  if (!(c.f("p") >= 0)) c.error("[cdist.4] p must not be negative");
  Shape s = broadcast(c, Shape(a.shape.begin(), a.shape.end() - 2), Shape(b.shape.begin(), b.shape.end() - 2));
  s.push_back(a.shape[a.rank() - 2]);
  s.push_back(b.shape[b.rank() - 2]);
  return Types{TensorType{a.dtype, s}};
}

Result<Point> eval(const Call& c, size_t) {
  const double p = c.f("p");
  const std::vector<int64_t> as = ir::static_sizes(c.type(0).shape), bs = ir::static_sizes(c.type(1).shape);
  return float_point([=](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    IndexBuffer full, x, y;
    std::copy(at.begin(), at.end(), full.begin());
    const auto row = [&](int64_t r, int64_t i, const std::vector<int64_t>& own, IndexBuffer& to) {
      full[at.size() - 2] = r;
      full[at.size() - 1] = i;
      return broadcast_index(Index(full.data(), at.size()), own, to);
    };
    std::vector<R> d;
    for (int64_t i = 0; i < as.back(); ++i) {
      // A size-1 row or column dim of the operand is indexed by 0 anyway.
      const R a = in.f(0, row(at[at.size() - 2], i, as, x));
      d.push_back(a - in.f(1, row(at[at.size() - 1], i, bs, y)));
    }
    return p_norm(std::span<const R>(d), p);
  });
}

Result<void> whole(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const double p = c.f("p");
  const size_t r = out[0].sizes.size();
  std::vector<int64_t> as = out[0].sizes, bs = out[0].sizes;
  const int64_t n = out[0].sizes[r - 2], k = out[0].sizes[r - 1], m = in[0].sizes.back();
  as[r - 1] = m;
  bs[r - 2] = k;
  bs[r - 1] = m;
  const std::vector<double> a = to_doubles(broadcast_view(in[0], as)), b = to_doubles(broadcast_view(in[1], bs));
  std::vector<double> y(static_cast<size_t>(out[0].numel())), d(static_cast<size_t>(m));
  for (size_t o = 0; o < y.size(); ++o) {
    const int64_t at = static_cast<int64_t>(o), batch = at / (n * k), i = at / k % n, j = at % k;
    for (int64_t e = 0; e < m; ++e)
      d[static_cast<size_t>(e)] =
          a[static_cast<size_t>((batch * n + i) * m + e)] - b[static_cast<size_t>((batch * k + j) * m + e)];
    y[o] = p_norm(std::span<const double>(d), p);
  }
  assign(out[0], y);
  return {};
}

OpDef definition(std::string schema) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = rule;
  d.eval = eval;
  d.whole = whole;
  d.agreement = Agreement::kReassociated;
  d.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    ir::Value* d =
        b("aten.sub.Tensor", {b("aten.unsqueeze", {n.arg("x1"), -2}), b("aten.unsqueeze", {n.arg("x2"), -3})});
    return b.done({b("aten.linalg_vector_norm", {d, n.arg("p"), ir::Arg::ints({-1})})});
  };
  return d;
}

// pdist: the distances of all pairs of rows i < j, row by row.
Result<Types> rule_pairs(const Call& c) {
  const TensorType& x = c.tensor("self");
  if (x.rank() != 2) c.error("[pdist.1] self needs two dims");
  if (!is_float(x.dtype)) c.error("[pdist.2] self must be a float tensor");
  if (!(c.f("p") >= 0)) c.error("[pdist.3] p must not be negative");
  if (c.failed()) return Types{};
  return Types{TensorType{x.dtype, {floordiv(x.shape[0] * (x.shape[0] - Dim(1)), Dim(2))}}};
}
Result<Point> eval_pairs(const Call& c, size_t) {
  const double p = c.f("p");
  const std::vector<int64_t> s = ir::static_sizes(c.type(0).shape);
  return float_point([=](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    int64_t i = 0, rest = at[0];
    while (rest >= s[0] - 1 - i) rest -= s[0] - 1 - i++;
    const int64_t j = i + 1 + rest;
    std::vector<R> d;
    for (int64_t k = 0; k < s[1]; ++k) {
      const int64_t x[] = {i, k}, y[] = {j, k};
      const R a = in.f(0, x);
      d.push_back(a - in.f(0, y));
    }
    return p_norm(std::span<const R>(d), p);
  });
}

}  // namespace

std::vector<OpDef> define_cdist() {
  OpDef forward = definition("aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor");
  forward.stock = "aten::_cdist_forward.out";
  OpDef pairs;
  pairs.schema_text = "aten::_pdist_forward(Tensor self, float p=2) -> Tensor";
  pairs.infer = rule_pairs;
  pairs.eval = eval_pairs;
  pairs.stock = "aten::_pdist_forward.out";
  pairs.agreement = Agreement::kReassociated;
  OpDef pdist = pairs;
  pdist.schema_text = "aten::pdist(Tensor self, float p=2) -> Tensor";
  pdist.stock = {};
  pdist.decompose = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten._pdist_forward", {n.arg("self"), n.arg("p")})});
  };
  return {pairs, pdist, definition("aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor"),
          forward};
}
}  // namespace edgewright::ops
