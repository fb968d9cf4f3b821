// src/ops/gather.cc - elements along a dim, each by its own index: gather, take_along_dim. Depends on ops/pick_rules.h.
#include <algorithm>

#include "ops/families.h"
#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

// [gather.1] index has self's rank and, but for `dim`, is no larger. 0-dim tensors count as of one element.
Result<Types> infer_gather(const Call& c) {
  const TensorType &t = c.tensor("self"), &index = c.tensor("index");
  check_index_dtype(c, "index", "[gather.2]");
  const int64_t d = c.axis("dim", static_cast<int64_t>(t.rank()));
  if (std::max<size_t>(t.rank(), 1) != std::max<size_t>(index.rank(), 1)) {
    if (!(numel(index.shape) == Dim(0)))
      c.error(fmt::format("[gather.1] index has {} dims, self {}", index.rank(), t.rank()));
  } else if (t.rank() == index.rank()) {
    for (size_t i = 0; i < t.rank(); ++i)
      if (static_cast<int64_t>(i) != d && t.shape[i].is_constant() && index.shape[i].is_constant() &&
          index.shape[i].value() > t.shape[i].value())
        c.error(fmt::format("[gather.1] index has size {} in dim {}, self {}", index.shape[i].value(), i,
                            t.shape[i].value()));
  }
  return Types{TensorType{t.dtype, index.shape}};
}
auto pick_gather(const Call& c) {
  const Shape& s = c.tensor("self").shape;
  const size_t d = static_cast<size_t>(c.axis("dim", static_cast<int64_t>(s.size())));
  return [d, n = s.empty() ? 1 : s[d].maybe().value_or(0), rank = s.size()](const auto& ints, Index at,
                                                                            int64_t* x) -> int {
    const int64_t i = checked_index(ints.i(1, at), n, false);
    if (i < 0) return kOutside;
    for (size_t k = 0; k < rank; ++k) x[k] = k == d ? i : k < at.size() ? at[k] : 0;
    return 0;
  };
}

// --- take_along_dim: gather after broadcasting all dims but one; without dim, of the flattened tensor ---
// [take_along_dim.1] Equal ranks.
Result<Types> infer_along(const Call& c) {
  const TensorType &t = c.tensor("self"), &index = c.tensor("indices");
  check_index_dtype(c, "indices", "[take_along_dim.2]");
  if (!c.has("dim")) return Types{TensorType{t.dtype, {numel(index.shape)}}};
  if (t.rank() != index.rank()) {
    c.error(fmt::format("[take_along_dim.1] indices has {} dims, self {}", index.rank(), t.rank()));
    return Types{t};
  }
  const int64_t d = c.axis("dim", static_cast<int64_t>(t.rank()));
  if (t.shape.empty()) return Types{t};
  Shape a = t.shape, b = index.shape;
  a[static_cast<size_t>(d)] = b[static_cast<size_t>(d)] = 1;
  Shape out = broadcast(c, a, b);
  out[static_cast<size_t>(d)] = index.shape[static_cast<size_t>(d)];
  return Types{TensorType{t.dtype, out}};
}
Result<std::vector<ir::Value*>> along_as_gather(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  ir::Value *x = self_of(n), *index = n.args()[1].value();
  if (!c.has("dim"))
    return all(b, {b("aten.gather",
                     {b("aten.view", {x, ir::Arg::ints({-1})}), 0, b("aten.view", {index, ir::Arg::ints({-1})})})});
  const int64_t d = c.axis("dim", rank_of(x));
  const auto widen = [&](ir::Value* v, ir::Value* like) -> ir::Value* {
    ir::ArgList sizes;
    bool same = true;
    for (int64_t i = 0; i < rank_of(v); ++i) {
      const size_t k = static_cast<size_t>(i);
      const bool grow = i != d && shape_of(v)[k] == Dim(1) && !(shape_of(like)[k] == Dim(1));
      same &= !grow;
      sizes.push_back(grow ? size_arg(b, like, i) : ir::Arg(-1));
    }
    return same ? v : b("aten.expand", {v, std::move(sizes)});
  };
  return all(b, {b("aten.gather", {widen(x, index), d, widen(index, x)})});
}

}  // namespace

std::vector<OpDef> define_gather() {
  OpDef along;
  along.schema_text = "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor";
  along.infer = infer_along;
  along.decompose = along_as_gather;
  return {picking(
              "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", infer_gather,
              [](const Call& c) { return pick_gather(c); }, "aten::gather.out"),
          along};
}

}  // namespace edgewright::ops
