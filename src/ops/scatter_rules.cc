#include "ops/scatter_rules.h"

#include <algorithm>

namespace edgewright::ops {
namespace {

struct Plan {
  Scatter s;
  size_t rank = 0, dim = 0;
  std::vector<int64_t> self, index;  // sizes; of at least one dim
  int operand_index = -1, operand_source = -1;
  bool self_scalar = false, index_scalar = false, source_scalar = false;
  Scalar number;  // the source where it is no tensor
  Scalar alpha{ir::ScalarKind::kInt, 1, 1.0};

  // How many writes there are along dim.
  int64_t along() const { return s.index_is_1d ? index[0] : index[dim]; }
  // True if a write can reach elements at these other coordinates.
  bool reaches(Index at) const {
    if (s.index_is_1d) return true;
    for (size_t d = 0; d < rank; ++d)
      if (d != dim && at[d] >= index[d]) return false;
    return true;
  }
};

// [scatter.2] index and src have self's rank; index is no larger than src, nor (but for dim) than self.
// index_*: index has at most one dim, source self's sizes but for dim. Dtypes of self and a tensor source agree.
void check(const Call& c, const Scatter& s) {
  const TensorType &self = c.tensor("self"), &index = c.tensor("index");
  if (index.dtype != DType::i64 && index.dtype != DType::i32)
    c.error(fmt::format("[scatter.3] index holds {}, not i32 or i64", name(index.dtype)));
  const int64_t d = c.axis("dim", static_cast<int64_t>(self.rank()));
  const int k = c.op().schema.params[static_cast<size_t>(std::max(c.op().schema.index_of(s.source), 0))].kind ==
                        ir::ParamKind::kTensor
                    ? c.operand(s.source)
                    : -1;
  const auto over = [](const Dim& a, const Dim& b) {
    return a.is_constant() && b.is_constant() && a.value() > b.value();
  };
  const size_t rank = std::max<size_t>(self.rank(), 1);
  if (s.index_is_1d) {
    if (index.rank() > 1) c.error(fmt::format("[scatter.2] index has {} dims, not 1", index.rank()));
    if (k < 0 || s.source == "value") return;
    const TensorType& src = c.type(k);
    if (src.dtype != self.dtype) c.error(fmt::format("[scatter.4] {} into {}", name(src.dtype), name(self.dtype)));
    const Dim n = index.shape.empty() ? Dim(1) : index.shape[0];
    if (std::max<size_t>(src.rank(), 1) != rank) {
      c.error(fmt::format("[scatter.2] source has {} dims, self {}", src.rank(), self.rank()));
      return;
    }
    for (size_t i = 0; i < src.rank() && i < self.rank(); ++i) {
      const Dim want = static_cast<int64_t>(i) == d ? n : self.shape[i];
      if (want.is_constant() && src.shape[i].is_constant() && !(want == src.shape[i]))
        c.error(fmt::format("[scatter.2] source has size {} in dim {}, not {}", src.shape[i].value(), i, want.value()));
    }
    return;
  }
  if (numel(index.shape) == Dim(0)) return;
  if (std::max<size_t>(index.rank(), 1) != rank) {
    c.error(fmt::format("[scatter.2] index has {} dims, self {}", index.rank(), self.rank()));
    return;
  }
  for (size_t i = 0; i < index.rank() && i < self.rank(); ++i)
    if (static_cast<int64_t>(i) != d && over(index.shape[i], self.shape[i]))
      c.error(fmt::format("[scatter.2] index has size {} in dim {}, self {}", index.shape[i].value(), i,
                          self.shape[i].value()));
  if (k < 0) return;
  const TensorType& src = c.type(k);
  if (src.dtype != self.dtype) c.error(fmt::format("[scatter.4] {} into {}", name(src.dtype), name(self.dtype)));
  if (std::max<size_t>(src.rank(), 1) != rank) {
    c.error(fmt::format("[scatter.2] {} has {} dims, self {}", s.source, src.rank(), self.rank()));
    return;
  }
  for (size_t i = 0; i < index.rank() && i < src.rank(); ++i)
    if (over(index.shape[i], src.shape[i]))
      c.error(fmt::format("[scatter.2] index has size {} in dim {}, {} {}", index.shape[i].value(), i, s.source,
                          src.shape[i].value()));
}

Plan plan_of(const Call& c, Scatter s) {
  Plan p;
  const auto sizes = [](const Shape& x) { return x.empty() ? std::vector<int64_t>{1} : ir::static_sizes(x); };
  const Shape& self = c.tensor("self").shape;
  p.self_scalar = self.empty();
  p.rank = std::max<size_t>(self.size(), 1);
  p.self = sizes(self);
  p.dim = static_cast<size_t>(c.axis("dim", static_cast<int64_t>(self.size())));
  p.operand_index = c.operand("index");
  p.index = sizes(c.tensor("index").shape);
  p.index_scalar = c.tensor("index").shape.empty();
  // An empty index may have any rank: nothing is written.
  if (!s.index_is_1d && p.index.size() != p.rank) p.index.assign(p.rank, 0);
  const ir::Param& param = c.op().schema.params[static_cast<size_t>(std::max(c.op().schema.index_of(s.source), 0))];
  if (param.kind == ir::ParamKind::kTensor) {
    p.operand_source = c.operand(s.source);
    p.source_scalar = c.tensor(s.source).shape.empty();
  } else {
    p.number = as_element(c.tensor("self").dtype, c.scalar(s.source));
  }
  if (!s.alpha.empty()) p.alpha = c.scalar(s.alpha);
  p.s = std::move(s);
  return p;
}

// Arithmetic of a combination, for double, Bounded and wrapping ints.
template <class R>
R combined(Combine how, R a, R b) {
  switch (how) {
    case Combine::kAssign: return b;
    case Combine::kSum:
    case Combine::kMean: return a + b;
    case Combine::kProd: return a * b;
    case Combine::kMax: return num::maximum(a, b);
    case Combine::kMin: return num::minimum(a, b);
  }
  return b;
}
template <>
int64_t combined(Combine how, int64_t a, int64_t b) {
  switch (how) {
    case Combine::kAssign: return b;
    case Combine::kSum:
    case Combine::kMean: return wrap_add(a, b);
    case Combine::kProd: return wrap_mul(a, b);
    case Combine::kMax: return std::max(a, b);
    case Combine::kMin: return std::min(a, b);
  }
  return b;
}
template <class R>
R divided(R a, int64_t n) {
  return a / R(static_cast<double>(n));
}
template <>
int64_t divided(int64_t a, int64_t n) {
  return a / n - (a % n < 0);
}  // towards minus infinity
template <class R>
R times(R a, const Scalar& s) {
  return s.f == 1 ? a : a * R(s.f);
}
template <>
int64_t times(int64_t a, const Scalar& s) {
  return wrap_mul(a, s.is_float() ? float_to_int(s.f) : s.i);
}

// One element after all writes. `get(operand, index) -> R`.
template <class R, class Ints, class Get>
R element(const Plan& p, const Ints& ints, Index at, const Get& get) {
  const IndexBuffer zero{};
  R r = get(0, p.self_scalar ? Index{} : at);
  const Index place = p.self_scalar ? Index{zero.data(), 1} : at;
  if (!p.reaches(place)) return r;
  IndexBuffer x{};
  std::copy(place.begin(), place.end(), x.begin());
  int64_t count = 0;
  for (int64_t j = 0; j < p.along(); ++j) {
    x[p.dim] = j;
    const Index here{x.data(), p.rank};
    const int64_t raw = ints.i(p.operand_index, p.index_scalar ? Index{} : p.s.index_is_1d ? Index{&j, 1} : here);
    // Where PyTorch refuses a negative index (`whole` does), an element means what it means for the ops that take it: a rewrite into
    // one of those is no difference.
    if (checked_index(raw, p.self[p.dim], true) != place[p.dim]) continue;
    R v = p.operand_source < 0 ? R(0) : get(p.operand_source, p.source_scalar ? Index{} : here);
    if (p.operand_source < 0) {
      if constexpr (std::is_same_v<R, int64_t>)
        v = p.number.i;
      else
        v = R(p.number.f);
    }
    v = times(v, p.alpha);
    r = count == 0 && !p.s.include_self ? v : combined(p.s.combine, r, v);
    ++count;
  }
  if (p.s.combine == Combine::kMean && count > 0) r = divided(r, count + (p.s.include_self ? 1 : 0));
  return r;
}

template <class R>
Result<void> run(const Plan& p, const Call& c, std::span<const ir::Tensor> in, ir::Tensor& out, std::vector<R> data,
                 const std::vector<R>& source) {
  std::vector<int64_t> counts(data.size(), 0);
  std::vector<int64_t> sizes = p.index, at(p.rank, 0);
  if (p.s.index_is_1d) {
    sizes = p.self;
    sizes[p.dim] = p.index[0];
  }
  const auto to = ir::contiguous_strides(p.self);
  std::vector<int64_t> from;
  if (p.operand_source >= 0)
    from = p.source_scalar ? std::vector<int64_t>(p.rank, 0)
                           : ir::contiguous_strides(in[static_cast<size_t>(p.operand_source)].sizes);
  const ir::Tensor& index = in[static_cast<size_t>(p.operand_index)];
  if (std::find(sizes.begin(), sizes.end(), 0) == sizes.end()) {
    do {
      const Index i = p.index_scalar ? Index{} : p.s.index_is_1d ? Index{&at[p.dim], 1} : Index{at};
      const int64_t raw = ir::load_i(index.dtype, index.data, index.offset_of(i));
      const int64_t k = checked_index(raw, p.self[p.dim], p.s.negative);
      if (k < 0) return fail(Code::kUsage, "{}: index {} in a dim of size {}", c.name(), raw, p.self[p.dim]);
      int64_t where = k * to[p.dim], what = 0;
      for (size_t d = 0; d < p.rank; ++d) {
        if (d != p.dim) where += at[d] * to[d];
        if (!from.empty()) what += at[d] * from[d];
      }
      R v;
      if constexpr (std::is_same_v<R, int64_t>)
        v = from.empty() ? p.number.i : source[static_cast<size_t>(what)];
      else
        v = from.empty() ? p.number.f : source[static_cast<size_t>(what)];
      R& r = data[static_cast<size_t>(where)];
      v = times(v, p.alpha);
      r = counts[static_cast<size_t>(where)]++ == 0 && !p.s.include_self ? v : combined(p.s.combine, r, v);
    } while (next_index(at, sizes));
  }
  if (p.s.combine == Combine::kMean)
    for (size_t i = 0; i < data.size(); ++i)
      if (counts[i] > 0) data[i] = divided(data[i], counts[i] + (p.s.include_self ? 1 : 0));
  store_block(out.dtype, out.mutable_data(), 0, static_cast<int64_t>(data.size()), data.data());
  return {};
}

}  // namespace

OpDef scattering(std::string schema, std::function<Scatter(const Call&)> parts, std::string stock) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.stock = std::move(stock);
  d.infer = [parts](const Call& c) -> Result<Types> {
    check(c, parts(c));
    return Types{c.tensor("self")};
  };
  d.eval = [parts](const Call& c, size_t) -> Result<Point> {
    const Plan p = plan_of(c, parts(c));
    const DType t = c.tensor("self").dtype;
    if (!is_number(t)) return fail(Code::kUnsupported, "{}: no element-wise meaning for {}", c.name(), name(t));
    if (is_float(t)) {
      return float_point([p](const auto& in, Index at) {
        using R = typename std::decay_t<decltype(in)>::F;
        return element<R>(p, in, at, [&](int k, Index i) { return in.f(k, i); });
      });
    }
    return int_point([p](const In& in, Index at) {
      return element<int64_t>(p, in, at, [&](int k, Index i) { return in.i(k, i); });
    });
  };
  d.whole = [parts](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const Plan p = plan_of(c, parts(c));
    const DType t = c.tensor("self").dtype;
    if (!is_number(t)) return fail(Code::kUnsupported, "{}: {}", c.name(), name(t));
    const auto source = [&](auto&& convert) {
      return p.operand_source < 0 ? decltype(convert(in[0])){} : convert(in[static_cast<size_t>(p.operand_source)]);
    };
    if (is_float(t)) return run<double>(p, c, in, out[0], to_doubles(in[0]), source(to_doubles));
    return run<int64_t>(p, c, in, out[0], to_ints(in[0]), source(to_ints));
  };
  return d;
}

}  // namespace edgewright::ops
