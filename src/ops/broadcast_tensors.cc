// src/ops/broadcast_tensors.cc - several tensors expanded to common sizes: broadcast_tensors, meshgrid. Depends on ops/view_rules.h.
#include <algorithm>

#include "ops/families.h"
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

Shape common(const Call& c) {
  Shape s;
  for (int k : c.operands("tensors")) s = broadcast(c, s, c.type(k).shape);
  return s;
}
// Results alias their tensors, but nobody writes through them (PyTorch refuses it where elements repeat): values are enough.
Result<Types> infer_types(const Call& c) {
  Types out;
  for (int k : c.operands("tensors")) out.push_back(TensorType{c.type(k).dtype, common(c)});
  return out;
}
Result<std::vector<ir::Value*>> expand_all(const ir::Node& n, Builder& b) {
  const Shape& to = shape_of(n.result());
  std::vector<ir::Value*> out;
  // Each size is taken from a tensor that has it.
  ir::ArgList sizes;
  for (size_t d = 0; d < to.size(); ++d) {
    ir::Arg size = to[d].is_constant() ? ir::Arg(to[d].value()) : ir::Arg();
    for (ir::Value* v : n.inputs()) {
      const Shape& s = shape_of(v);
      if (!size.is_none() || d + s.size() < to.size()) continue;
      const size_t own = d + s.size() - to.size();
      if (s[own] == to[d]) size = size_arg(b, v, static_cast<int64_t>(own));
    }
    if (size.is_none()) return std::vector<ir::Value*>{};
    sizes.push_back(size);
  }
  for (ir::Value* v : n.inputs()) out.push_back(shape_of(v) == to ? v : b("aten.expand", {v, sizes}));
  return all(b, std::move(out));
}

// --- meshgrid: tensor i varies along dim i; "xy" exchanges the first two ---
// [meshgrid.1] Tensors of at most one dim. [meshgrid.2] indexing is "ij" or "xy".
bool exchanged(const Call& c) {
  if (c.op().schema.index_of("indexing") < 0) return false;
  const std::string how = c.str("indexing");
  if (how != "ij" && how != "xy") c.error(fmt::format("[meshgrid.2] indexing '{}'", how));
  return how == "xy" && c.num_operands() >= 2;
}
size_t dim_of(size_t tensor, bool swap) { return swap && tensor < 2 ? 1 - tensor : tensor; }
Result<Types> infer_grid(const Call& c) {
  const auto xs = c.operands("tensors");
  const bool swap = exchanged(c);
  if (xs.empty()) c.error("[meshgrid.1] no tensors");
  Shape s(xs.size(), Dim(1));
  for (size_t i = 0; i < xs.size(); ++i) {
    const TensorType& t = c.type(xs[i]);
    if (t.rank() > 1) c.error(fmt::format("[meshgrid.1] a tensor of {} dims", t.rank()));
    if (t.dtype != c.type(xs[0]).dtype) c.error("[meshgrid.1] tensors of different dtypes");
    s[dim_of(i, swap)] = t.shape.empty() ? Dim(1) : t.shape[0];
  }
  if (s.size() > kMaxRank) c.error(fmt::format("a rank of {} is more than {}", s.size(), kMaxRank));
  return Types(xs.size(), TensorType{xs.empty() ? DType::f32 : c.type(xs[0]).dtype, s});
}
Result<std::vector<ir::Value*>> grid_as_expand(const ir::Node& n, Builder& b) {
  const bool swap = exchanged(Call::of(n));
  const std::vector<ir::Value*> xs = n.inputs();
  ir::ArgList sizes(xs.size());
  for (size_t i = 0; i < xs.size(); ++i)
    sizes[dim_of(i, swap)] = rank_of(xs[i]) == 0 ? ir::Arg(1) : size_arg(b, xs[i], 0);
  std::vector<ir::Value*> out;
  for (size_t i = 0; i < xs.size(); ++i) {
    ir::ArgList ones(xs.size(), ir::Arg(1));
    ones[dim_of(i, swap)] = sizes[dim_of(i, swap)];
    out.push_back(b("aten.expand", {b("aten.view", {xs[i], std::move(ones)}), sizes}));
  }
  return all(b, std::move(out));
}

OpDef named(const char* schema, Result<Types> (*infer)(const Call&),
            Result<std::vector<ir::Value*>> (*rewrite)(const ir::Node&, Builder&)) {
  OpDef d;
  d.schema_text = schema;
  d.infer = infer;
  d.decompose = rewrite;
  return d;
}

}  // namespace

std::vector<OpDef> define_broadcast_tensors() {
  return {named("aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", infer_types, expand_all),
          named("aten::meshgrid(Tensor[] tensors) -> Tensor[]", infer_grid, grid_as_expand),
          named("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", infer_grid, grid_as_expand)};
}

}  // namespace edgewright::ops
