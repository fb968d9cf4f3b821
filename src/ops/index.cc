// src/ops/index.cc - self[indices], read. Depends on ops/index_rules.h.
#include <algorithm>

#include "ops/index_rules.h"
#include "ops/xnn_rows.h"

namespace edgewright::ops {
namespace {

Result<Types> infer_types(const Call& c) {
  const Indexing p = indexing(c, "indices");
  return Types{TensorType{c.tensor("self").dtype, p.result}};
}
Result<Point> eval(const Call& c, size_t) {
  const Indexing p = indexing(c, "indices");
  if (p.has_mask) return fail(Code::kUnsupported, "{}: with a mask an element cannot be had alone", c.name());
  return picked_point(c, c.tensor("self").dtype, [p](const auto& ints, Index at, int64_t* x) {
    return p.locate([&](size_t j, Index i) { return ints.i(p.sources[j].operand, i); }, at, x) ? 0 : kOutside;
  });
}
Result<void> whole(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  EW_ASSIGN(const Indices indices, resolve_indices(c, "indices", in));
  const auto sizes = ir::static_sizes(indices.plan.result);
  if (out[0].sizes != sizes || !out[0].data) out[0] = ir::Tensor::empty(in[0].dtype, sizes);
  return picked_whole(c, in, out[0], 0,
                      [&](int, Index at, int64_t* x) { return indices.plan.locate(indices, at, x) ? 0 : kOutside; });
}
// Constant indices of neighbouring dims, each along a dim of its own in the result: one dim after the other.
Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  const Call c = Call::of(n);
  const Indexing p = indexing(c, "indices");
  if (c.failed()) return fail(Code::kKeptOnHost, "{}", *c.failed());
  if (p.has_mask) return fail(Code::kKeptOnHost, "a mask among the indices");
  if (!is_static(p.self) || !is_static(p.result)) return fail(Code::kKeptOnHost, "a size is known only at run time");
  if (p.sources.empty() || p.common_rank != p.sources.size() || p.first != p.sources[0].dim)
    return fail(Code::kKeptOnHost, "XNNPACK has no gather; these indices are no slices");
  const ir::Value* x = n.arg("self").value();
  for (size_t j = 0; j < p.sources.size(); ++j) {
    const Indexing::Source& s = p.sources[j];
    // Aligned to the right, the index must lie along common dim j alone.
    bool alone = s.dim == p.first + j;
    for (size_t d = 0; alone && d < s.shape.size(); ++d)
      alone = d + p.common_rank - s.shape.size() == j || s.shape[d] == Dim(1);
    if (!alone) return fail(Code::kKeptOnHost, "XNNPACK has no gather; these indices are no slices");
    EW_ASSIGN(const std::vector<int64_t> rows, constant_rows(c.value(s.operand), p.self[s.dim].value()));
    if (Dim(static_cast<int64_t>(rows.size())) != p.result[s.dim])
      return fail(Code::kKeptOnHost, "XNNPACK has no gather; these indices are no slices");
    const bool last = j + 1 == p.sources.size();
    TensorType t = *x->tensor();
    t.shape[s.dim] = static_cast<int64_t>(rows.size());
    const ir::Value* y = last ? n.result() : out.temporary(t);
    EW_TRY(emit_rows(out, x, y, static_cast<int64_t>(s.dim), rows));
    x = y;
  }
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

std::vector<OpDef> define_index() {
  OpDef d = named("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor");
  d.stock = "aten::index.Tensor_out";
  d.lower = lower;
  OpDef u = named("aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor");
  u.decompose = becomes("aten.index.Tensor");
  return {d, u};
}

}  // namespace edgewright::ops
