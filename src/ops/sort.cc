// src/ops/sort.cc - order along a dim: sort, argsort, topk. Depends on ops/families.h.
//
// NaN counts as the largest. Equal elements keep their order (PyTorch promises that for stable sorts only, and does it for all on
// the CPU but topk, where the order of equal elements is unspecified).
#include <algorithm>
#include <numeric>

#include "ops/families.h"
#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

struct Line {
  size_t dim = 0;
  int64_t n = 1, outer = 1, inner = 1;  // the tensor as [outer, n, inner]
};
Line line_of(const Call& c, const ir::Tensor& t) {
  Line l;
  l.dim = static_cast<size_t>(c.axis("dim", static_cast<int64_t>(t.sizes.size())));
  for (size_t d = 0; d < t.sizes.size(); ++d) (d < l.dim ? l.outer : d == l.dim ? l.n : l.inner) *= t.sizes[d];
  return l;
}
// Calls f(first element, order) for each line: `order` lists places along the dim, best first.
template <class T, class F>
void each_line(const std::vector<T>& x, const Line& l, bool descending, F f) {
  std::vector<int64_t> order(static_cast<size_t>(l.n));
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t i = 0; i < l.inner; ++i) {
      const int64_t first = o * l.n * l.inner + i;
      const auto at = [&](int64_t k) { return x[static_cast<size_t>(first + k * l.inner)]; };
      std::iota(order.begin(), order.end(), 0);
      const auto less = [](T a, T b) { return a < b || (b != b && a == a); };
      if (descending)
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return less(at(b), at(a)); });
      else
        std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return less(at(a), at(b)); });
      f(o, i, first, order);
    }
}
template <class T>
void write(const std::vector<T>& x, const Line& l, int64_t keep, bool descending, std::span<ir::Tensor> out) {
  each_line(x, l, descending, [&](int64_t o, int64_t i, int64_t first, const std::vector<int64_t>& order) {
    for (int64_t k = 0; k < keep; ++k) {
      const int64_t to = (o * keep + k) * l.inner + i, from = order[static_cast<size_t>(k)];
      if constexpr (std::is_same_v<T, double>)
        ir::store_f(out[0].dtype, out[0].mutable_data(), to, x[static_cast<size_t>(first + from * l.inner)]);
      else
        ir::store_i(out[0].dtype, out[0].mutable_data(), to, x[static_cast<size_t>(first + from * l.inner)]);
      ir::store_i(DType::i64, out[1].mutable_data(), to, from);
    }
  });
}
Result<void> run(const Call& c, const ir::Tensor& in, std::optional<int64_t> keep, bool descending,
                 std::span<ir::Tensor> out) {
  const Line l = line_of(c, in);
  if (in.numel() == 0) return {};
  if (is_float(in.dtype))
    write(to_doubles(in), l, keep.value_or(l.n), descending, out);
  else
    write(to_ints(in), l, keep.value_or(l.n), descending, out);
  return {};
}

// [sort.1] A number dtype.
void check(const Call& c) {
  if (!is_number(c.tensor("self").dtype)) c.error(fmt::format("[sort.1] self is {}", name(c.tensor("self").dtype)));
}
Result<Types> infer_sort(const Call& c) {
  check(c);
  c.axis("dim", c.rank("self"));
  return Types{c.tensor("self"), TensorType{DType::i64, c.tensor("self").shape}};
}
Result<void> whole_sort(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  return run(c, in[0], {}, c.flag("descending"), out);
}

// [topk.1] 0 <= k <= the dim's size; a 0-dim tensor has one element.
Result<Types> infer_topk(const Call& c) {
  check(c);
  TensorType t = c.tensor("self");
  const int64_t d = c.axis("dim", static_cast<int64_t>(t.rank()));
  const Dim k = c.dim("k"), n = t.shape.empty() ? Dim(1) : t.shape[static_cast<size_t>(d)];
  if (k.is_constant() && (k.value() < 0 || (n.is_constant() && k.value() > n.value())))
    c.error(fmt::format("[topk.1] {} of {} elements", k.value(), n.str()));
  if (!t.shape.empty()) t.shape[static_cast<size_t>(d)] = k;
  return Types{t, TensorType{DType::i64, t.shape}};
}
// A 0-dim tensor keeps its shape whatever k is (PyTorch does so for k = 0, too).
Result<void> whole_topk(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  return run(c, in[0], in[0].sizes.empty() ? 1 : c.i("k"), c.flag("largest"), out);
}

// [argsort] the second result of sort.
Result<Types> infer_argsort(const Call& c) {
  check(c);
  c.axis("dim", c.rank("self"));
  return Types{TensorType{DType::i64, c.tensor("self").shape}};
}
Result<std::vector<ir::Value*>> order_of_sort(const ir::Node& n, Builder& b) {
  const auto r = b.multi("aten.sort", {n.args()[0], n.arg("dim"), n.arg("descending")});
  return all(b, {r.size() == 2 ? r[1] : nullptr});
}
OpDef argsort(const char* schema) {
  OpDef d;
  d.schema_text = schema;
  d.infer = infer_argsort;
  d.decompose = order_of_sort;
  return d;
}

}  // namespace

std::vector<OpDef> define_sort() {
  OpDef sort;
  sort.schema_text = "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)";
  sort.infer = infer_sort;
  sort.whole = whole_sort;
  OpDef stable = sort;
  sort.stock = "aten::sort.values";
  stable.stock = "aten::sort.values_stable";
  stable.schema_text =
      "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor "
      "indices)";
  stable.decompose = becomes("aten.sort", [](const ir::Node& n, Builder&) -> std::vector<ir::Arg> {
    return {n.args()[0], n.arg("dim"), n.arg("descending")};
  });
  OpDef topk;
  topk.schema_text =
      "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor "
      "indices)";
  topk.infer = infer_topk;
  topk.whole = whole_topk;
  topk.stock = "aten::topk.values";
  return {sort, stable, topk, argsort("aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor"),
          argsort("aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor")};
}

}  // namespace edgewright::ops
