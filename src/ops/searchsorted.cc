// src/ops/searchsorted.cc - how many boundaries lie below a number: searchsorted, bucketize. Depends on ops/families.h.
#include <algorithm>

#include "ops/families.h"
#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

// The parts under both schemas' names.
struct Search {
  int boundaries = -1, values = -1, sorter = -1;  // operands; values -1 for a number
  Scalar number;
  bool right = false;
};
Search search_of(const Call& c) {
  Search s;
  const bool buckets = c.op().schema.index_of("boundaries") >= 0;
  s.boundaries = c.operand(buckets ? "boundaries" : "sorted_sequence");
  const bool tensor =
      c.op().schema.params[static_cast<size_t>(c.op().schema.index_of("self"))].kind == ir::ParamKind::kTensor;
  if (tensor)
    s.values = c.operand("self");
  else
    s.number = c.scalar("self");
  s.right = c.flag("right");
  if (buckets) return s;
  s.sorter = c.operand("sorter");
  if (c.has("side")) {
    const std::string side = c.str("side");
    if (side != "left" && side != "right") c.error(fmt::format("[searchsorted.1] side '{}'", side));
    if (side == "left" && s.right) c.error("[searchsorted.1] side and right disagree");
    s.right = side == "right";
  }
  return s;
}
// [searchsorted.2] Boundaries have one dim, or self's dims but for the last. [searchsorted.3] sorter has boundaries' shape.
// [searchsorted.4] Number dtypes; where they differ both sides are compared as floats.
Result<Types> infer_types(const Call& c) {
  const Search s = search_of(c);
  const TensorType& b = c.type(s.boundaries);
  const Shape shape = s.values < 0 ? Shape{} : c.type(s.values).shape;
  if (b.rank() == 0) c.error("[searchsorted.2] boundaries have no dim");
  if (b.rank() > 1) {
    if (c.op().schema.index_of("boundaries") >= 0 || b.rank() != shape.size())
      c.error(fmt::format("[searchsorted.2] boundaries have {} dims", b.rank()));
    for (size_t d = 0; d + 1 < b.rank() && d < shape.size(); ++d)
      if (b.shape[d].is_constant() && shape[d].is_constant() && !(b.shape[d] == shape[d]))
        c.error(fmt::format("[searchsorted.2] sizes differ in dim {}", d));
  }
  if (s.sorter >= 0 && !(c.type(s.sorter).shape == b.shape))
    c.error("[searchsorted.3] sorter does not have the shape of the boundaries");
  if (s.values >= 0 && !is_number(c.type(s.values).dtype))
    c.error(fmt::format("[searchsorted.4] values are {}", name(c.type(s.values).dtype)));
  if (!is_number(b.dtype)) c.error(fmt::format("[searchsorted.4] boundaries are {}", name(b.dtype)));
  return Types{TensorType{c.flag("out_int32") ? DType::i32 : DType::i64, shape}};
}
Result<Point> eval(const Call& c, size_t) {
  const Search s = search_of(c);
  const TensorType& b = c.type(s.boundaries);
  const bool floats = is_float(b.dtype) || (s.values < 0 ? s.number.is_float() : is_float(c.type(s.values).dtype));
  return int_point(
      [s, floats, rank = b.rank(), n = b.shape.back().maybe().value_or(0)](const In& in, Index at) -> int64_t {
        IndexBuffer x{};
        if (rank > 1) std::copy(at.begin(), at.end() - 1, x.begin());
        const auto boundary = [&](int64_t k) {
          x[rank - 1] = k;
          if (s.sorter >= 0) x[rank - 1] = std::clamp<int64_t>(in.i(s.sorter, Index{x.data(), rank}), 0, n - 1);
          return Index{x.data(), rank};
        };
        // Passes a boundary while it is less (right: not greater); comparisons with NaN count as passing, as PyTorch's do.
        const auto passes = [&](int64_t k) {
          const Index i = boundary(k);
          if (floats) {
            const double v = s.values < 0 ? s.number.f : in.f(s.values, at), w = in.f(s.boundaries, i);
            return s.right ? !(w > v) : !(w >= v);
          }
          const int64_t v = s.values < 0 ? s.number.i : in.i(s.values, at), w = in.i(s.boundaries, i);
          return s.right ? w <= v : w < v;
        };
        int64_t lo = 0, hi = n;
        while (lo < hi) {
          const int64_t mid = lo + (hi - lo) / 2;
          if (passes(mid))
            lo = mid + 1;
          else
            hi = mid;
        }
        return lo;
      });
}
// With few boundaries in one dim: the number of those that are passed.
Result<std::vector<ir::Value*>> as_count(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const Search s = search_of(c);
  if (s.values < 0 || s.sorter >= 0 || c.type(s.boundaries).rank() != 1) return std::vector<ir::Value*>{};
  const auto value = [&](const char* p) { return n.arg(p).value(); };
  ir::Value* boundaries = value(c.op().schema.index_of("boundaries") >= 0 ? "boundaries" : "sorted_sequence");
  ir::Value* x = b("aten.unsqueeze", {value("self"), -1});
  ir::Value* stays = b(s.right ? "aten.gt.Tensor" : "aten.ge.Tensor", {boundaries, x});
  ir::Value* count = b("aten.sum.dim_IntList", {b("aten.logical_not", {stays}), ir::Arg::ints({-1}), false,
                                                c.flag("out_int32") ? DType::i32 : DType::i64});
  return all(b, {count});
}

OpDef named(const char* schema) {
  OpDef d;
  d.schema_text = schema;
  d.infer = infer_types;
  d.eval = eval;
  d.decompose = as_count;
  return d;
}

}  // namespace

std::vector<OpDef> define_searchsorted() {
  return {named("aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool "
                "right=False, str? side=None, Tensor? sorter=None) -> Tensor"),
          named("aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool "
                "right=False, str? side=None, Tensor? sorter=None) -> Tensor"),
          named("aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> "
                "Tensor"),
          named("aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> "
                "Tensor")};
}

}  // namespace edgewright::ops
