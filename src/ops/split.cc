// src/ops/split.cc - consecutive pieces along a dim: split, split_with_sizes, chunk, tensor_split. Depends on ops/view_rules.h.
//
// All become slices, which are what later stages know how to merge and lower.
#include <algorithm>

#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

struct Piece {
  Dim start, length;
};
using Pieces = std::function<std::vector<Piece>(const Call&, const Dim& n)>;

constexpr int64_t kMaxPieces = 1 << 16;  // more results than this no program means

// [split.1] The number of pieces is known: the dim's size and the piece size are, or the dim is one piece.
std::vector<Piece> by_size(const Call& c, const Dim& n) {
  const Dim size = c.dim("split_size");
  if (size == n) return {{0, n}};
  const Dim pieces = size == Dim(0) ? Dim(1) : max(floordiv(n + size - Dim(1), size), 1);
  if (!pieces.is_constant()) {
    c.error(fmt::format("[split.1] a dim of size {} in pieces of {}: their number is known only at run time", n.str(),
                        size.str()));
    return {};
  }
  if (size.is_constant() && (size.value() < 0 || (size.value() == 0 && !(n == Dim(0)))))
    c.error(fmt::format("[split.2] a piece size of {}", size.value()));
  if (pieces.value() > kMaxPieces) {
    c.error(fmt::format("[split.3] {} pieces", pieces.value()));
    return {};
  }
  std::vector<Piece> out;
  for (int64_t i = 0; i + 1 < pieces.value(); ++i) out.push_back({Dim(i) * size, size});
  const Dim start = Dim(pieces.value() - 1) * size;
  out.push_back({start, n - start});
  return out;
}
// [split.4] The sizes add up to the dim's.
std::vector<Piece> by_sizes(const Call& c, const Shape& sizes, const Dim& n) {
  std::vector<Piece> out;
  Dim at = 0;
  for (const Dim& s : sizes) {
    if (s.is_constant() && s.value() < 0) c.error(fmt::format("[split.2] a piece size of {}", s.value()));
    out.push_back({at, s});
    at = at + s;
  }
  if (at.is_constant() && n.is_constant() && !(at == n))
    c.error(fmt::format("[split.4] pieces add up to {}, the dim's size is {}", at.value(), n.value()));
  return out;
}
// Pieces of ceil(n / chunks): there may be fewer than asked for. An empty dim gives as many empty pieces as asked for.
std::vector<Piece> chunks(const Call& c, const Dim& n) {
  const int64_t k = c.i("chunks");
  if (k <= 0 || k > kMaxPieces) {
    c.error(fmt::format("[chunk.1] {} chunks", k));
    return {};
  }
  if (n == Dim(0)) return std::vector<Piece>(static_cast<size_t>(k), Piece{0, 0});
  const Dim size = floordiv(n + Dim(k - 1), k);
  if (!n.is_constant()) {
    // The exporter guards on the number of pieces; a multiple of k is what it then is.
    std::vector<Piece> out;
    for (int64_t i = 0; i < k; ++i) out.push_back({Dim(i) * size, i + 1 < k ? size : n - Dim(i) * size});
    return out;
  }
  std::vector<Piece> out;
  for (int64_t at = 0; at < n.value(); at += size.value()) out.push_back({at, std::min(size.value(), n.value() - at)});
  return out;
}
// As many pieces as asked for, the first n % sections one longer.
std::vector<Piece> sections(const Call& c, const Dim& n) {
  const int64_t k = c.i("sections");
  if (k <= 0 || k > kMaxPieces) {
    c.error(fmt::format("[tensor_split.1] {} sections", k));
    return {};
  }
  std::vector<Piece> out;
  const Dim small = floordiv(n, k), more = n - small * Dim(k);
  for (int64_t i = 0; i < k; ++i) {
    const Dim start = Dim(i) * small + min(Dim(i), more), end = Dim(i + 1) * small + min(Dim(i + 1), more);
    out.push_back({start, end - start});
  }
  return out;
}
// Cuts at the given indices, each read as a slice bound.
std::vector<Piece> indices(const Call& c, const Dim& n) {
  std::vector<Piece> out;
  std::optional<Dim> from;
  Shape cuts = c.dims("indices");
  for (size_t i = 0; i <= cuts.size(); ++i) {
    const std::optional<Dim> to = i < cuts.size() ? std::optional(cuts[i]) : std::nullopt;
    const SliceRange r = slice_range(c, from, to, 1, n);
    out.push_back({r.start, r.length});
    from = to;
  }
  return out;
}

LayoutRule rule(Pieces pieces) {
  return [pieces](const Call& c, const Layout& base) -> std::vector<Layout> {
    if (base.sizes.empty()) {
      c.error("[split.5] a 0-dim tensor cannot be split");
      return {};
    }
    const size_t d = static_cast<size_t>(c.axis("dim", static_cast<int64_t>(base.sizes.size())));
    std::vector<Layout> out;
    for (const Piece& p : pieces(c, base.sizes[d])) {
      Layout l = base;
      l.sizes[d] = p.length;
      l.offset = base.offset + p.start * base.strides[d];
      out.push_back(std::move(l));
    }
    return out;
  };
}

// Bounds as arguments: constants, or sums of the pieces' own size arguments.
Result<std::vector<std::pair<ir::Arg, ir::Arg>>> bounds(const ir::Node& n, const Pieces& pieces, Builder& b) {
  const Call c = Call::of(n);
  const int64_t dim = c.axis("dim", rank_of(self_of(n)));
  const std::vector<Piece> list = pieces(c, shape_of(self_of(n))[static_cast<size_t>(dim)]);
  std::vector<std::pair<ir::Arg, ir::Arg>> out;
  ir::Arg at = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const Dim end = list[i].start + list[i].length;
    if (list[i].start.is_constant()) at = list[i].start.value();
    ir::Arg stop = INT64_MAX;
    if (end.is_constant())
      stop = end.value();
    else if (i + 1 < list.size())
      stop = sum_arg(b, at, size_arg(b, n.result(i), dim));
    out.emplace_back(at, stop);
    at = stop;
  }
  if (b.failed()) return std::unexpected(b.done({}).error());
  return out;
}
Result<std::vector<ir::Value*>> as_slices(const ir::Node& n, const Pieces& pieces, Builder& b) {
  const size_t dim = static_cast<size_t>(Call::of(n).axis("dim", rank_of(self_of(n))));
  for (size_t r = 0; r + 1 < n.num_results(); ++r)  // the last one ends where the dim does
    if (!shape_of(n.result(r))[dim].is_constant())
      return std::vector<ir::Value*>{};  // the bounds would be read from what goes away
  EW_ASSIGN(auto range, bounds(n, pieces, b));
  std::vector<ir::Value*> out;
  for (auto& [start, stop] : range) out.push_back(b("aten.slice.Tensor", {self_of(n), n.arg("dim"), start, stop}));
  return all(b, std::move(out));
}

OpDef named(const char* schema, Pieces pieces) {
  OpDef d = view_op(
      schema, rule(pieces),
      [pieces](const ir::Node& n, size_t r, ir::Value* base, ir::Value* written, Builder& b) -> Result<ir::Value*> {
        EW_ASSIGN(auto range, bounds(n, pieces, b));
        return one(b, b("aten.slice_scatter", {base, written, n.arg("dim"), range[r].first, range[r].second}));
      });
  d.decompose = [pieces](const ir::Node& n, Builder& b) { return as_slices(n, pieces, b); };
  return d;
}
OpDef fresh(const char* schema, Pieces pieces) {
  OpDef d = moving_op(schema, rule(pieces));
  d.decompose = [pieces](const ir::Node& n, Builder& b) { return as_slices(n, pieces, b); };
  return d;
}
Pieces sizes_from(const char* param) {
  return [param](const Call& c, const Dim& n) { return by_sizes(c, c.dims(param), n); };
}

}  // namespace

std::vector<OpDef> define_split() {
  OpDef split = named("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", by_size);
  OpDef with_sizes =
      named("aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
            sizes_from("split_sizes"));
  return {
      split,
      with_sizes,
      named("aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
            sizes_from("split_size")),
      named("aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", chunks),
      named("aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]", sections),
      named("aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]", indices),
      fresh("aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", by_size),
      fresh("aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
            sizes_from("split_sizes")),
      fresh("aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", by_size),
      fresh("aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
            sizes_from("split_sizes")),
      fresh("aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", chunks)};
}

}  // namespace edgewright::ops
