// src/ops/index.cc - self[indices], read. Depends on ops/index_rules.h.
#include <algorithm>

#include "ops/index_rules.h"

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
  OpDef u = named("aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor");
  u.decompose = becomes("aten.index.Tensor");
  return {d, u};
}

}  // namespace edgewright::ops
