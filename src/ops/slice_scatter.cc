// src/ops/slice_scatter.cc - a base with part of it replaced: slice_, select_, diagonal_, as_strided_scatter. Depends on ops/pick_rules.h.
//
// These are what writes through views become.
#include <algorithm>

#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

// [scatter.1] src has the shape of the view that it replaces.
void check_src(const Call& c, const Shape& view) {
  const Shape& src = c.tensor("src").shape;
  bool same = src.size() == view.size();
  for (size_t d = 0; same && d < src.size(); ++d)
    same = !src[d].is_constant() || !view[d].is_constant() || src[d] == view[d];
  if (!same) c.error("[scatter.1] src does not have the shape of what it replaces");
}

// --- slice_scatter ---
struct SlicePlace {
  int64_t dim = 0;
  SliceRange range;
  Dim step;
};
SlicePlace slice_place(const Call& c) {
  SlicePlace p;
  const Shape& s = c.tensor("self").shape;
  if (s.empty()) {
    c.error("[slice_scatter.1] a 0-dim tensor cannot be sliced");
    return p;
  }
  p.dim = c.axis("dim", static_cast<int64_t>(s.size()));
  p.step = c.dim("step");
  p.range = slice_range(c, maybe_dim(c, "start"), maybe_dim(c, "end"), p.step, s[static_cast<size_t>(p.dim)]);
  return p;
}
Result<Types> infer_slice(const Call& c) {
  const SlicePlace p = slice_place(c);
  Shape view = c.tensor("self").shape;
  if (!view.empty()) view[static_cast<size_t>(p.dim)] = p.range.length;
  check_src(c, view);
  return Types{c.tensor("self")};
}
Result<Point> eval_slice(const Call& c, size_t) {
  const SlicePlace p = slice_place(c);
  return moved_point(
      c, c.tensor("self").dtype,
      [d = static_cast<size_t>(p.dim), start = p.range.start.maybe().value_or(0),
       n = p.range.length.maybe().value_or(0), step = p.step.maybe().value_or(1)](Index at, int64_t* in) {
        std::copy(at.begin(), at.end(), in);
        const int64_t from = at[d] - start;
        if (from < 0 || from % step != 0 || from / step >= n) return 0;
        in[d] = from / step;
        return 1;
      });
}
// The base before, src, the base behind.
Result<void> emit_around(XnnEmitter& out, const ir::Value* self, const ir::Value* src, const ir::Value* result,
                         int64_t dim, int64_t start, int64_t length) {
  const Dim n = shape_of(self)[static_cast<size_t>(dim)];
  std::vector<const ir::Value*> parts;
  const auto piece = [&](int64_t at, int64_t count) -> Result<void> {
    if (count == 0) return {};
    TensorType t = *self->tensor();
    t.shape[static_cast<size_t>(dim)] = count;
    parts.push_back(out.temporary(t));
    return emit_slice(out, self, parts.back(), dim, at, count);
  };
  EW_TRY(piece(0, start));
  parts.push_back(src);
  EW_TRY(piece(start + length, n.value() - start - length));
  return emit_concatenate(out, std::move(parts), result, dim);
}
Result<void> lower_slice(const ir::Node& n, XnnEmitter& out) {
  const SlicePlace p = slice_place(Call::of(n));
  const ir::Value *self = n.args()[0].value(), *src = n.args()[1].value();
  if (!is_static(shape_of(self)) || !p.range.start.is_constant() || !p.range.length.is_constant())
    return fail(Code::kKeptOnHost, "XNNPACK's slice needs static sizes");
  if (!(p.step == Dim(1)))
    return fail(Code::kKeptOnHost, "XNNPACK's payload has no strided slice (step {})", p.step.str());
  if (p.range.length == Dim(0)) return out.copy(self, n.result());
  return emit_around(out, self, src, n.result(), p.dim, p.range.start.value(), p.range.length.value());
}

// --- select_scatter ---
struct SelectPlace {
  int64_t dim = 0;
  Dim index = 0;
};
SelectPlace select_place(const Call& c) {
  const Shape& s = c.tensor("self").shape;
  if (s.empty()) {
    c.error("[select_scatter.1] a 0-dim tensor has nothing to select from");
    return {};
  }
  const int64_t d = c.axis("dim", static_cast<int64_t>(s.size()));
  return {d, wrapped_index(c, c.dim("index"), s[static_cast<size_t>(d)])};
}
Result<Types> infer_select(const Call& c) {
  const SelectPlace p = select_place(c);
  Shape view = c.tensor("self").shape;
  if (!view.empty()) view.erase(view.begin() + p.dim);
  check_src(c, view);
  return Types{c.tensor("self")};
}
Result<Point> eval_select(const Call& c, size_t) {
  const SelectPlace p = select_place(c);
  return moved_point(c, c.tensor("self").dtype,
                     [d = static_cast<size_t>(p.dim), index = p.index.maybe().value_or(0)](Index at, int64_t* in) {
                       const bool hit = at[d] == index;
                       for (size_t i = 0, j = 0; i < at.size(); ++i)
                         if (!hit || i != d) in[j++] = at[i];
                       return hit ? 1 : 0;
                     });
}
Result<void> lower_select(const ir::Node& n, XnnEmitter& out) {
  const SelectPlace p = select_place(Call::of(n));
  const ir::Value *self = n.args()[0].value(), *src = n.args()[1].value();
  if (!is_static(shape_of(self)) || !p.index.is_constant())
    return fail(Code::kKeptOnHost, "XNNPACK's slice needs static sizes");
  TensorType t = *self->tensor();
  t.shape[static_cast<size_t>(p.dim)] = 1;
  const ir::Value* kept = out.temporary(t);
  EW_TRY(out.static_reshape(src, kept, t.shape));
  return emit_around(out, self, kept, n.result(), p.dim, p.index.value(), 1);
}

// --- diagonal_scatter ---
Result<Types> infer_diagonal(const Call& c) {
  const Shape& s = c.tensor("self").shape;
  const int64_t rank = static_cast<int64_t>(s.size());
  const int64_t d1 = c.axis("dim1", rank), d2 = c.axis("dim2", rank);
  if (rank < 2 || d1 == d2)
    c.error(fmt::format("[diagonal.1] the diagonal of dims {} and {} of {}", d1, d2, rank));
  else if (c.tensor("src").rank() + 1 != s.size())
    c.error("[scatter.1] src does not have the shape of what it replaces");
  else if (is_static(s) && is_static(c.tensor("src").shape)) {
    const int64_t k = c.i("offset"), n1 = s[static_cast<size_t>(d1)].value(), n2 = s[static_cast<size_t>(d2)].value();
    const __int128 wide = k;
    const __int128 length =
        std::max<__int128>(0, k >= 0 ? std::min<__int128>(n1, n2 - wide) : std::min<__int128>(n1 + wide, n2));
    Shape view;
    for (int64_t d = 0; d < rank; ++d)
      if (d != d1 && d != d2) view.push_back(s[static_cast<size_t>(d)]);
    view.push_back(static_cast<int64_t>(length));
    check_src(c, view);
  }
  return Types{c.tensor("self")};
}
Result<Point> eval_diagonal(const Call& c, size_t) {
  const int64_t rank = static_cast<int64_t>(c.tensor("self").rank());
  return moved_point(c, c.tensor("self").dtype,
                     [d1 = static_cast<size_t>(c.axis("dim1", rank)), d2 = static_cast<size_t>(c.axis("dim2", rank)),
                      k = c.i("offset")](Index at, int64_t* in) {
                       if (at[d2] - at[d1] != k) {
                         std::copy(at.begin(), at.end(), in);
                         return 0;
                       }
                       size_t j = 0;
                       for (size_t i = 0; i < at.size(); ++i)
                         if (i != d1 && i != d2) in[j++] = at[i];
                       in[j] = k >= 0 ? at[d1] : at[d2];
                       return 1;
                     });
}

// --- as_strided_scatter: the base is contiguous, as in as_strided ---
Result<Types> infer_strided(const Call& c) {
  const Shape sizes = c.dims("size"), strides = c.dims("stride");
  const Dim offset = c.has("storage_offset") ? c.dim("storage_offset") : Dim(0);
  check_src(c, sizes);
  const Shape& self = c.tensor("self").shape;
  if (sizes.size() != strides.size())
    c.error(fmt::format("[as_strided.1] {} sizes, {} strides", sizes.size(), strides.size()));
  if (c.failed() || !is_static(self) || !is_static(sizes) || !is_static(strides) || !offset.is_constant())
    return Types{c.tensor("self")};
  __int128 last = offset.value();
  bool empty = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d].value() < 0 || strides[d].value() < 0) c.error("[as_strided.1] a negative size or stride");
    empty |= sizes[d].value() == 0;
    if (last < numel(self).value()) last += static_cast<__int128>(sizes[d].value() - 1) * strides[d].value();
  }
  if (!empty && (offset.value() < 0 || last >= numel(self).value()))
    c.error("[as_strided.2] it reaches outside the base");
  return Types{c.tensor("self")};
}
// Where elements of the view share memory the last one written stays.
Result<void> whole_strided(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const ir::Tensor base = in[0].contiguous(), src = in[1].contiguous();
  if (base.dtype != src.dtype)
    return fail(Code::kUnsupported, "{}: {} into {}", c.name(), name(src.dtype), name(base.dtype));
  const auto sizes = c.ints("size"), strides = c.ints("stride");
  const int64_t offset = c.has("storage_offset") ? c.i("storage_offset") : 0;
  const size_t width = size_of(base.dtype);
  std::byte* to = out[0].mutable_data();
  std::memcpy(to, base.data, base.nbytes());
  std::vector<int64_t> at(sizes.size(), 0);
  for (int64_t i = 0, n = src.numel(); i < n; ++i) {
    int64_t where = offset;
    for (size_t d = 0; d < at.size(); ++d) where += at[d] * strides[d];
    std::memcpy(to + static_cast<size_t>(where) * width, src.data + static_cast<size_t>(i) * width, width);
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < sizes[d]) break;
      at[d] = 0;
    }
  }
  return {};
}

// Both of the latter where XNNPACK and the stock runtime have nothing: an index_put of the view's places in the flat base.
// The places come from the view itself, applied to 0, 1, 2, ...
Result<std::vector<ir::Value*>> as_index_put(const ir::Node& n, Builder& b, const char* view) {
  ir::Value *self = n.args()[0].value(), *src = n.args()[1].value();
  if (!is_static(shape_of(self)) || !is_static(shape_of(src)) || self->tensor()->dtype != src->tensor()->dtype)
    return std::vector<ir::Value*>{};
  const OpDef* d = find(view);
  const int64_t count = numel(shape_of(self)).value();
  ir::Tensor places = ir::Tensor::empty(DType::i64, ir::static_sizes(shape_of(self)));
  for (int64_t i = 0; i < count; ++i) ir::store_i(DType::i64, places.mutable_data(), i, i);
  std::vector<ir::Arg> args{self};
  args.insert(args.end(), n.args().begin() + 2, n.args().end());
  const Call c = Call::of(*d, args);
  ir::Tensor seen;
  EW_TRY(d->whole(c, {&places, 1}, {&seen, 1}));
  seen = seen.contiguous();
  const int64_t written = seen.numel();
  seen.sizes = {written};
  seen.strides = {1};
  ir::Value* flat = b("aten.view", {self, ir::Arg::ints({count})});
  ir::Value* put = b("aten.index_put", {flat, ir::Arg::values({b.constant(seen, "places")}),
                                        b("aten.view", {src, ir::Arg::ints({written})})});
  return all(b, {b("aten.view", {put, size_args(b, self)})});
}

}  // namespace

std::vector<OpDef> define_slice_scatter() {
  OpDef slice;
  slice.schema_text =
      "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> "
      "Tensor";
  slice.infer = infer_slice;
  slice.eval = eval_slice;
  slice.lower = lower_slice;
  slice.stock = "aten::slice_scatter.out";
  OpDef select;
  select.schema_text = "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor";
  select.infer = infer_select;
  select.eval = eval_select;
  select.lower = lower_select;
  select.stock = "aten::select_scatter.out";
  OpDef diagonal;
  diagonal.schema_text =
      "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor";
  diagonal.infer = infer_diagonal;
  diagonal.eval = eval_diagonal;
  diagonal.decompose = [](const ir::Node& n, Builder& b) { return as_index_put(n, b, "aten.diagonal"); };
  OpDef strided;
  strided.schema_text =
      "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) "
      "-> Tensor";
  strided.infer = infer_strided;
  strided.whole = whole_strided;
  strided.decompose = [](const ir::Node& n, Builder& b) { return as_index_put(n, b, "aten.as_strided"); };
  return {slice, select, diagonal, strided};
}

}  // namespace edgewright::ops
