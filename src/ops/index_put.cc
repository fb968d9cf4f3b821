// src/ops/index_put.cc - self with self[indices] replaced by, or added to, values. Depends on ops/index_rules.h.
#include <algorithm>

#include "ops/index_rules.h"

namespace edgewright::ops {
namespace {

// [index_put.1] values has self's dtype and broadcasts to the indexed shape.
void check_values(const Call& c, const Indexing& p) {
  const TensorType& v = c.tensor("values");
  if (v.dtype != c.tensor("self").dtype)
    c.error(fmt::format("[index_put.1] values are {}, self is {}", name(v.dtype), name(c.tensor("self").dtype)));
  bool fits = v.rank() <= p.result.size();
  for (size_t d = 0; fits && d < v.rank(); ++d) {
    const Dim &own = v.shape[d], &to = p.result[p.result.size() - v.rank() + d];
    fits = !own.is_constant() || own == Dim(1) || !to.is_constant() || own == to;
  }
  // PyTorch also drops leading dims of size 1.
  if (!fits && !(v.rank() > p.result.size() && numel(v.shape) == Dim(1)))
    c.error("[index_put.1] values do not broadcast to the indexed shape");
}
Result<Types> infer_types(const Call& c) {
  const Indexing p = indexing(c, "indices");
  if (!c.failed()) check_values(c, p);
  return Types{c.tensor("self")};
}

// An index of the indexed shape as one of `values`.
struct Values {
  size_t rank;
  BroadcastIndex broadcast;
  bool single;
  Values(const Shape& v, size_t result_rank)
      : rank(v.size()),
        broadcast(v.size() <= result_rank ? BroadcastIndex(v, result_rank) : BroadcastIndex()),
        single(v.size() > result_rank) {}
  Index operator()(Index at, IndexBuffer& buffer) const {
    if (!single) return broadcast(at, buffer);
    std::fill(buffer.begin(), buffer.begin() + static_cast<int64_t>(rank), 0);
    return {buffer.data(), rank};
  }
};

// An element: the last of the index tuples that name it, or the sum over all of them.
template <class R, class GetValue, class Ints>
R element(const Indexing& p, const Values& values, bool accumulate, R start, const Ints& ints, Index at, GetValue get) {
  IndexBuffer place{}, x{}, buffer{};
  std::array<int64_t, kMaxRank> sizes{};
  for (size_t d = 0; d < p.common_rank; ++d) sizes[d] = p.common[d].value();
  for (size_t k = 0; k < p.kept.size(); ++k) place[k < p.first ? k : k + p.common_rank] = at[p.kept[k]];
  for (size_t d = 0; d < p.common_rank; ++d)
    if (sizes[d] == 0) return start;
  R r = start;
  std::span<int64_t> tuple{place.data() + p.first, p.common_rank};
  do {
    const Index full{place.data(), p.result.size()};
    if (!p.locate([&](size_t j, Index i) { return ints.i(p.sources[j].operand, i); }, full, x.data())) continue;
    if (!std::equal(at.begin(), at.end(), x.begin())) continue;
    const R v = get(values(full, buffer));
    r = accumulate ? R(r + v) : v;
  } while (next_index(tuple, {sizes.data(), p.common_rank}));
  return r;
}
Result<Point> eval(const Call& c, size_t) {
  const Indexing p = indexing(c, "indices");
  if (p.has_mask) return fail(Code::kUnsupported, "{}: with a mask an element cannot be had alone", c.name());
  const DType t = c.tensor("self").dtype;
  const int v = c.operand("values");
  const bool accumulate = c.flag("accumulate");
  const Values values(c.tensor("values").shape, p.result.size());
  if (is_float(t)) {
    return float_point([=](const auto& in, Index at) -> typename std::decay_t<decltype(in)>::F {
      return element(p, values, accumulate, in.f(0, at), in, at, [&](Index i) { return in.f(v, i); });
    });
  }
  if (!is_int(t) && !is_bool(t))
    return fail(Code::kUnsupported, "{}: no element-wise meaning for {}", c.name(), name(t));
  return int_point([=](const In& in, Index at) -> int64_t {
    // unsigned sums wrap
    return static_cast<int64_t>(element(p, values, accumulate, static_cast<uint64_t>(in.i(0, at)), in, at,
                                        [&](Index i) { return static_cast<uint64_t>(in.i(v, i)); }));
  });
}
Result<void> whole(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  EW_ASSIGN(const Indices indices, resolve_indices(c, "indices", in));
  const Indexing& p = indices.plan;
  check_values(c, p);
  if (c.failed()) return fail(Code::kUsage, "{}: {}", c.name(), *c.failed());
  const ir::Tensor base = in[0].contiguous();
  const ir::Tensor& v = in[static_cast<size_t>(c.operand("values"))];
  const DType t = base.dtype;
  const size_t width = size_of(t);
  std::byte* to = out[0].mutable_data();
  std::memcpy(to, base.data, base.nbytes());
  const bool accumulate = c.flag("accumulate");
  if (accumulate && !is_number(t)) return fail(Code::kUnsupported, "{}: sums of {}", c.name(), name(t));
  const Values values(c.tensor("values").shape, p.result.size());
  const std::vector<int64_t> sizes = ir::static_sizes(p.result);
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return {};
  std::vector<int64_t> at(sizes.size(), 0);
  std::vector<double> sums;  // floats are summed in double and rounded once
  if (accumulate && is_float(t)) sums = to_doubles(base);
  IndexBuffer x{}, buffer{};
  do {
    if (!p.locate(indices, at, x.data())) return fail(Code::kUsage, "{}: an index lies outside its dim", c.name());
    const int64_t where = base.offset_of({x.data(), p.self_rank});
    const int64_t from = v.offset_of(values(at, buffer));
    if (!accumulate)
      std::memcpy(to + static_cast<size_t>(where) * width, v.data + from * static_cast<int64_t>(width), width);
    else if (is_float(t))
      sums[static_cast<size_t>(where)] += ir::load_f(t, v.data, from);
    else
      ir::store_i(t, to, where, wrap_add(ir::load_i(t, to, where), ir::load_i(t, v.data, from)));
  } while (next_index(at, sizes));
  if (!sums.empty()) store_block(t, to, 0, static_cast<int64_t>(sums.size()), sums.data());
  return {};
}
OpDef named(const char* schema) {
  OpDef d;
  d.schema_text = schema;
  d.infer = infer_types;
  d.eval = eval;
  d.whole = whole;
  return d;
}

}  // namespace

std::vector<OpDef> define_index_put() {
  OpDef d = named("aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor");
  d.stock = "aten::index_put.out";
  OpDef u =
      named("aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor");
  u.decompose = becomes("aten.index_put");
  OpDef impl = named(
      "aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) "
      "-> Tensor");
  impl.decompose = becomes("aten.index_put", [](const ir::Node& n, Builder&) -> std::vector<ir::Arg> {
    return {n.args()[0], n.args()[1], n.args()[2], n.arg("accumulate")};
  });
  return {d, u, impl};
}

}  // namespace edgewright::ops
