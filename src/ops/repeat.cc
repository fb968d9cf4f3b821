// src/ops/repeat.cc - copies side by side (repeat, tile) or element by element (repeat_interleave). Depends on ops/pick_rules.h.
#include <algorithm>

#include "base/checked.h"
#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

// `self` under as many dims as there are repeats, new ones in front.
Shape widened(const Shape& s, size_t rank) {
  Shape out(rank > s.size() ? rank - s.size() : 0, Dim(1));
  out.insert(out.end(), s.begin(), s.end());
  return out;
}
// n * times, refused where it overflows.
Dim scaled(const Call& c, const Dim& n, const Dim& times) {
  if (n.is_constant() && times.is_constant() && !checked_mul(n.value(), times.value())) {
    c.error(fmt::format("[repeat.3] {} times {} elements", times.value(), n.value()));
    return 0;
  }
  return n * times;
}
// [repeat.1] As many repeats as dims, or more. [repeat.2] None negative.
Result<Types> repeated(const Call& c, Shape times) {
  TensorType t = c.tensor("self");
  if (times.size() < t.rank()) {
    c.error(fmt::format("[repeat.1] {} repeats for {} dims", times.size(), t.rank()));
    return Types{t};
  }
  t.shape = widened(t.shape, times.size());
  for (size_t d = 0; d < times.size(); ++d) {
    if (times[d].is_constant() && times[d].value() < 0) c.error(fmt::format("[repeat.2] {} repeats", times[d].value()));
    t.shape[d] = scaled(c, t.shape[d], times[d]);
  }
  if (times.size() > kMaxRank) c.error(fmt::format("a rank of {} is more than {}", times.size(), kMaxRank));
  return Types{t};
}
// tile: missing repeats are 1, in front.
Shape tiles(const Call& c) { return widened(c.dims("dims"), c.tensor("self").rank()); }

Point wrap_around(const Shape& self) {
  return move_point([s = ir::static_sizes(self)](Index at, int64_t* in) {
    const size_t fresh = at.size() - s.size();
    for (size_t d = 0; d < s.size(); ++d) in[d] = at[d + fresh] % s[d];
    return 0;
  });
}

// Copies side by side, one dim after the other.
Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  const Shape times = Call::of(n).dims("repeats");
  const ir::Value* v = self_of(n);
  if (!is_static(shape_of(v)) || !is_static(times)) return fail(Code::kKeptOnHost, "repeats known only at run time");
  if (numel(shape_of(n.result())) == Dim(0)) return fail(Code::kKeptOnHost, "the result is empty");
  TensorType t = *v->tensor();
  t.shape = widened(t.shape, times.size());
  std::vector<size_t> dims;
  for (size_t d = times.size(); d-- > 0;) {
    if (times[d].value() > static_cast<int64_t>(kMaxSlices))
      return fail(Code::kKeptOnHost, "{} copies side by side", times[d].value());
    if (times[d].value() > 1) dims.push_back(d);
  }
  if (dims.empty()) return lower_as_reshape(n, out);
  if (!(t.shape == shape_of(v))) {
    const ir::Value* w = out.temporary(t);
    EW_TRY(out.static_reshape(v, w, t.shape));
    v = w;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t d = dims[i];
    t.shape[d] = t.shape[d] * times[d];
    const ir::Value* to = i + 1 == dims.size() ? n.result() : out.temporary(t);
    EW_TRY(emit_concatenate(out, std::vector<const ir::Value*>(static_cast<size_t>(times[d].value()), v), to,
                            static_cast<int64_t>(d)));
    v = to;
  }
  return {};
}

// --- repeat_interleave ---
struct Along {
  Shape shape;  // self, flattened where dim is None
  size_t dim = 0;
};
Along along(const Call& c) {
  const Shape& s = c.tensor("self").shape;
  if (!c.has("dim")) return {{numel(s)}, 0};
  return {s.empty() ? Shape{1} : s, static_cast<size_t>(c.axis("dim", static_cast<int64_t>(s.size())))};
}
// [repeat_interleave.1] repeats >= 0
Result<Types> infer_each(const Call& c) {
  Along a = along(c);
  const Dim r = c.dim("repeats");
  if (r.is_constant() && r.value() < 0) c.error(fmt::format("[repeat_interleave.1] {} repeats", r.value()));
  a.shape[a.dim] = scaled(c, a.shape[a.dim], r);
  return Types{TensorType{c.tensor("self").dtype, a.shape}};
}
Result<Point> eval_each(const Call& c, size_t) {
  const Along a = along(c);
  const bool flat = !c.has("dim");
  return move_point([sizes = ir::static_sizes(c.tensor("self").shape), d = a.dim,
                     r = std::max<int64_t>(c.i("repeats"), 1), flat](Index at, int64_t* in) {
    if (flat) {
      int64_t i = at[0] / r;
      for (size_t k = sizes.size(); k-- > 0; i /= sizes[k]) in[k] = i % sizes[k];
    } else if (!sizes.empty()) {
      std::copy(at.begin(), at.end(), in);
      in[d] = at[d] / r;
    }
    return 0;
  });
}
// A new dim behind, expanded, and merged with the one before.
Result<std::vector<ir::Value*>> each_as_expand(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  ir::Value* x = self_of(n);
  if (!c.has("dim")) x = b("aten.view", {x, ir::Arg::ints({-1})});
  if (b.failed() || rank_of(x) == 0) x = b("aten.view", {x, ir::Arg::ints({1})});
  if (b.failed()) return all(b, {});
  const int64_t d = c.has("dim") ? c.axis("dim", rank_of(x)) : 0;
  ir::ArgList sizes;
  for (int64_t i = 0; i < rank_of(x); ++i) sizes.push_back(-1);
  sizes.insert(sizes.begin() + d + 1, n.arg("repeats"));
  ir::Value* y = b("aten.expand", {b("aten.unsqueeze", {x, d + 1}), std::move(sizes)});
  return all(b, {b("aten.flatten.using_ints", {y, d, d + 1})});
}

// --- repeat_interleave by a tensor: how often each element comes ---
std::optional<std::vector<int64_t>> known_repeats(const Call& c) {
  const int k = c.operand("repeats");
  const ir::Value* v = k < 0 ? nullptr : c.value(k);
  if (!v || !v->is_constant() || !v->data || v->data->dtype == DType::f32) return std::nullopt;
  const ir::Tensor t = v->data->contiguous();
  std::vector<int64_t> out;
  for (int64_t i = 0, n = t.numel(); i < n; ++i) out.push_back(ir::load_i(t.dtype, t.data, i));
  return out;
}
// [repeat_interleave.2] repeats is i32 or i64 and has at most one dim. The size is output_size, the sum of constant repeats, or unknown.
Dim total(const Call& c, const Dim& n) {
  check_index_dtype(c, "repeats", "[repeat_interleave.2]");
  if (c.tensor("repeats").rank() > 1) c.error("[repeat_interleave.2] repeats has more than one dim");
  if (c.has("output_size")) return c.dim("output_size");
  if (const auto r = known_repeats(c)) {
    if (r->size() == 1) {
      if ((*r)[0] < 0) c.error("[repeat_interleave.1] negative repeats");
      return scaled(c, n, (*r)[0]);
    }
    int64_t sum = 0;
    for (int64_t v : *r) {
      if (v < 0 || __builtin_add_overflow(sum, v, &sum)) {
        c.error("[repeat_interleave.1] negative or too many repeats");
        return 0;
      }
    }
    return sum;
  }
  return c.fresh_symbol();
}
Result<Types> infer_places(const Call& c) {
  const Shape& s = c.tensor("repeats").shape;
  return Types{TensorType{c.tensor("repeats").dtype, {total(c, s.empty() ? Dim(1) : s[0])}}};
}
constexpr int64_t kMaxTotal = int64_t{1} << 32;
Result<std::vector<int64_t>> places(const Call& c, const ir::Tensor& repeats, int64_t n) {
  std::vector<int64_t> out;
  const ir::Tensor r = repeats.contiguous();
  const int64_t given = r.numel();
  if (given != n && given != 1) return fail(Code::kUsage, "{}: {} repeats for {} elements", c.name(), given, n);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t times = ir::load_i(r.dtype, r.data, given == 1 ? 0 : i);
    if (times < 0 || times > kMaxTotal - static_cast<int64_t>(out.size()))
      return fail(Code::kUsage, "{}: {} repeats", c.name(), times);
    out.insert(out.end(), static_cast<size_t>(times), i);
  }
  if (c.has("output_size") && c.i("output_size") != static_cast<int64_t>(out.size()))
    return fail(Code::kUsage, "{}: {} elements where output_size is {}", c.name(), out.size(), c.i("output_size"));
  return out;
}
Result<void> whole_places(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const DType t = in[0].dtype;
  EW_ASSIGN(auto p, places(c, in[0], in[0].numel()));
  out[0] = ir::Tensor::empty(t, {static_cast<int64_t>(p.size())});
  for (size_t i = 0; i < p.size(); ++i) ir::store_i(t, out[0].mutable_data(), static_cast<int64_t>(i), p[i]);
  return {};
}
Result<Types> infer_by_tensor(const Call& c) {
  Along a = along(c);
  a.shape[a.dim] = total(c, a.shape[a.dim]);
  return Types{TensorType{c.tensor("self").dtype, a.shape}};
}
Result<void> whole_by_tensor(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const Along a = along(c);
  ir::Tensor x = in[0].contiguous();
  x.sizes = ir::static_sizes(a.shape);
  x.strides = ir::contiguous_strides(x.sizes);
  EW_ASSIGN(auto p, places(c, in[1], x.sizes[a.dim]));
  std::vector<int64_t> sizes = x.sizes;
  sizes[a.dim] = static_cast<int64_t>(p.size());
  out[0] = ir::Tensor::empty(x.dtype, sizes);
  return picked_whole(c, {&x, 1}, out[0], 0, [&](int, Index at, int64_t* to) {
    std::copy(at.begin(), at.end(), to);
    to[a.dim] = p[static_cast<size_t>(at[a.dim])];
    return 0;
  });
}
Result<std::vector<ir::Value*>> by_tensor_as_index(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  ir::Value *x = self_of(n), *r = n.args()[1].value();
  if (!c.has("dim")) x = b("aten.view", {x, ir::Arg::ints({-1})});
  if (b.failed()) return all(b, {});
  const int64_t d = c.has("dim") ? c.axis("dim", rank_of(x)) : 0;
  if (numel(shape_of(r)) == Dim(1)) {
    r = b("aten.expand", {b("aten.view", {r, ir::Arg::ints({1})}), ir::ArgList{size_arg(b, x, d)}});
  }
  return all(b, {b("aten.index_select", {x, d, b("aten.repeat_interleave.Tensor", {r, n.arg("output_size")})})});
}

}  // namespace

std::vector<OpDef> define_repeat() {
  OpDef repeat;
  repeat.schema_text = "aten::repeat(Tensor self, SymInt[] repeats) -> Tensor";
  repeat.infer = [](const Call& c) { return repeated(c, c.dims("repeats")); };
  repeat.eval = [](const Call& c, size_t) -> Result<Point> { return wrap_around(c.tensor("self").shape); };
  repeat.lower = lower;
  repeat.stock = "aten::repeat.out";
  OpDef tile = repeat;
  tile.schema_text = "aten::tile(Tensor self, SymInt[] dims) -> Tensor";
  tile.infer = [](const Call& c) { return repeated(c, tiles(c)); };
  tile.lower = nullptr;
  tile.stock = "";
  tile.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    ir::ArgList times = n.args()[1].list() ? *n.args()[1].list() : ir::ArgList{n.args()[1]};
    while (static_cast<int64_t>(times.size()) < rank_of(self_of(n))) times.insert(times.begin(), 1);
    return all(b, {b("aten.repeat", {self_of(n), std::move(times)})});
  };
  OpDef each;
  each.schema_text =
      "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> "
      "Tensor";
  each.infer = infer_each;
  each.eval = eval_each;
  each.decompose = each_as_expand;
  OpDef where;
  where.schema_text = "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor";
  where.infer = infer_places;
  where.whole = whole_places;
  where.stock = "aten::repeat_interleave.Tensor_out";
  OpDef by_tensor;
  by_tensor.schema_text =
      "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> "
      "Tensor";
  by_tensor.infer = infer_by_tensor;
  by_tensor.whole = whole_by_tensor;
  by_tensor.decompose = by_tensor_as_index;
  return {repeat, tile, each, where, by_tensor};
}

}  // namespace edgewright::ops
