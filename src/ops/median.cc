// src/ops/median.cc - aten.median: the lower of the two middle elements; NaN if there is one.
#include "ops/dense.h"

namespace edgewright::ops {
namespace {

// Position of the median: of the first NaN, otherwise of the middle of a stable order.
template <class R>
size_t median_at(std::span<const R> x) {
  using num::value;
  if constexpr (!std::is_same_v<R, int64_t>)
    for (size_t i = 0; i < x.size(); ++i)
      if (value(x[i]) != value(x[i])) return i;
  std::vector<size_t> order(x.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&](size_t i) {
    if constexpr (std::is_same_v<R, int64_t>)
      return x[i];
    else
      return value(x[i]);
  };
  const auto middle = order.begin() + static_cast<ptrdiff_t>((x.size() - 1) / 2);
  std::nth_element(order.begin(), middle, order.end(),
                   [&](size_t a, size_t b) { return key(a) < key(b) || (key(a) == key(b) && a < b); });
  return *middle;
}
template <class R>
R median(std::span<const R> x) {
  if (x.empty()) {
    if constexpr (std::is_same_v<R, int64_t>)
      return 0;
    else
      return R(NAN);
  }
  R m = x[median_at(x)];
  // Any of the elements may be the one that is chosen after rounding: no error is larger than the largest.
  if constexpr (std::is_same_v<R, Bounded>)
    for (const R& v : x) m.e = std::max(m.e, v.e);
  return m;
}

Fold fold(size_t r) {
  if (r == 1)
    return Fold{}
        .ints([](std::span<const int64_t> x) { return x.empty() ? 0 : static_cast<int64_t>(median_at(x)); })
        .tests([](std::span<const double> x) { return x.empty() ? 0 : static_cast<int64_t>(median_at(x)); });
  return Fold{}.floats([]<class R>(std::span<const R> x) { return median(x); }).ints([](std::span<const int64_t> x) {
    return median(x);
  });
}

OpDef definition(std::string schema, size_t results) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = [=](const Call& c) -> Result<Types> {
    const TensorType& x = c.tensor("self");
    if (!is_float(x.dtype) && !is_int(x.dtype)) c.error(fmt::format("[median.1] not defined on {}", name(x.dtype)));
    const FoldedDims dims = dims_of(c);
    if (c.failed()) return Types{};
    for (int64_t d : dims.folded)
      if (x.shape[static_cast<size_t>(d)] == Dim(0) && (results == 2 || !is_float(x.dtype)))
        c.error("[median.2] the dim is empty");
    Types t{TensorType{x.dtype, dims.shape(x.shape)}};
    if (results == 2) t.push_back(TensorType{DType::i64, dims.shape(x.shape)});
    return t;
  };
  d.eval = [](const Call& c, size_t r) {
    return fold_point(c, dims_of(c), fold(r), c.type(0).dtype, r == 0 ? c.type(0).dtype : DType::i64);
  };
  d.whole = [](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    for (size_t r = 0; r < out.size(); ++r) fold_whole(dims_of(c), fold(r), c.type(0).dtype, in[0], out[r]);
    return {};
  };
  return d;
}

}  // namespace

std::vector<OpDef> define_median() {
  OpDef all = definition("aten::median(Tensor self) -> Tensor", 1);
  all.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    if (ir::numel(n.arg("self").value()->tensor()->shape) == Dim(0)) return std::vector<ir::Value*>{};
    return b.done({b("aten.median.dim", {b("aten.view", {n.arg("self"), ir::Arg::ints({-1})}), 0})});
  };
  OpDef dim =
      definition("aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", 2);
  // The (n + 1) / 2 smallest in order end with it; a NaN, which would come last, is looked for apart.
  dim.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const Call c = Call::of(n);
    ir::Value* x = n.arg("self").value();
    const Shape& s = x->tensor()->shape;
    const int64_t d = c.axis("dim", static_cast<int64_t>(s.size()));
    if (c.failed() || s.empty() || !s[static_cast<size_t>(d)].is_constant()) return std::vector<ir::Value*>{};
    const int64_t k = (s[static_cast<size_t>(d)].value() - 1) / 2;
    const auto smallest = b.multi("aten.topk", {x, k + 1, d, false, true});
    if (b.failed()) return b.done({});
    std::vector<ir::Value*> out;
    for (ir::Value* v : smallest) out.push_back(b("aten.slice.Tensor", {v, d, k, k + 1, 1}));
    if (is_float(x->tensor()->dtype)) {
      ir::Value* nan = b("aten.isnan", {x});
      ir::Value* any = b("aten.any.dim", {nan, d, true});
      out[0] = b("aten.masked_fill.Scalar", {out[0], any, NAN});
      out[1] = b("aten.where.self", {any, b("aten.argmax", {b("aten.to.dtype", {nan, DType::i32}), d, true}), out[1]});
    }
    if (!c.flag("keepdim"))
      for (ir::Value*& v : out) v = b("aten.squeeze.dim", {v, d});
    return b.done(out);
  };
  return {all, dim};
}
}  // namespace edgewright::ops
