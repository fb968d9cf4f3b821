// src/ops/cat.cc - tensors side by side along a dim, and what is made of it: stack and its relatives. Depends on ops/pick_rules.h.
#include <algorithm>

#include "ops/families.h"
#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

// An operand of shape [0] joins anything and gives nothing.
bool is_nothing(const Shape& s) { return s.size() == 1 && s[0] == Dim(0); }

// [cat.1] At least one tensor, all of one rank (but for those of shape [0]), none 0-dim. [cat.2] Other dims agree.
// The dtype is the promoted one.
Result<Types> infer_types(const Call& c) {
  const auto xs = c.operands("tensors");
  if (xs.empty()) {
    c.error("[cat.1] no tensors");
    return Types{};
  }
  TensorType t = c.type(xs[0]);
  bool found = false;
  int64_t dim = 0;
  for (int k : xs) {
    const TensorType& x = c.type(k);
    if (x.dtype != t.dtype) {
      if (const auto p = promote(t.dtype, x.dtype))
        t.dtype = *p;
      else
        c.error(fmt::format("[cat.3] {} and {} have no common dtype", name(t.dtype), name(x.dtype)));
    }
    if (x.shape.empty()) c.error("[cat.1] a 0-dim tensor cannot be concatenated");
    if (is_nothing(x.shape)) continue;
    if (!found) {
      found = true;
      t.shape = x.shape;
      dim = c.axis("dim", static_cast<int64_t>(x.rank()));
      continue;
    }
    if (x.rank() != t.rank()) {
      c.error(fmt::format("[cat.1] ranks {} and {}", t.rank(), x.rank()));
      return Types{t};
    }
    for (size_t d = 0; d < t.rank(); ++d) {
      if (static_cast<int64_t>(d) == dim)
        t.shape[d] = t.shape[d] + x.shape[d];
      else if (t.shape[d].is_constant() && x.shape[d].is_constant() && !(t.shape[d] == x.shape[d]))
        c.error(fmt::format("[cat.2] sizes {} and {} in dim {}", t.shape[d].value(), x.shape[d].value(), d));
      else if (x.shape[d].is_constant())
        t.shape[d] = x.shape[d];
    }
  }
  if (!found) c.axis("dim", 1);
  return Types{t};
}

struct Places {
  int64_t dim = 0;
  std::vector<int> operand;
  std::vector<int64_t> start;  // ascending; one more than operands
};
Places places(const Call& c) {
  Places p;
  int64_t at = 0;
  for (int k : c.operands("tensors")) {
    const Shape& s = c.type(k).shape;
    if (is_nothing(s)) continue;
    p.dim = c.axis("dim", static_cast<int64_t>(s.size()));
    p.operand.push_back(k);
    p.start.push_back(at);
    at += s[static_cast<size_t>(p.dim)].maybe().value_or(0);
  }
  p.start.push_back(at);
  return p;
}
DType dtype_of(const Call& c) {
  DType t = c.type(0).dtype;
  for (size_t k = 1; k < c.num_operands(); ++k) t = promote(t, c.type(static_cast<int>(k)).dtype).value_or(t);
  return t;
}

Result<Point> eval(const Call& c, size_t) {
  return moved_point(c, dtype_of(c), [p = places(c)](Index at, int64_t* in) {
    std::copy(at.begin(), at.end(), in);
    const size_t d = static_cast<size_t>(p.dim);
    const size_t k = static_cast<size_t>(std::upper_bound(p.start.begin(), p.start.end(), at[d]) - p.start.begin()) - 1;
    in[d] = at[d] - p.start[k];
    return p.operand[k];
  });
}

Result<void> whole(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const Places p = places(c);
  const DType t = out[0].dtype;
  const size_t width = size_of(t), d = static_cast<size_t>(p.dim);
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < out[0].sizes.size(); ++i)
    (i < d ? outer : i > d ? inner : outer) *= i == d ? 1 : out[0].sizes[i];
  const int64_t row = p.start.back() * inner;
  for (size_t k = 0; k < p.operand.size(); ++k) {
    ir::Tensor x = in[static_cast<size_t>(p.operand[k])].contiguous();
    if (x.dtype != t) {
      ir::Tensor y = ir::Tensor::empty(t, x.sizes);
      for (int64_t i = 0, n = x.numel(); i < n; ++i) {
        if (is_float(t))
          ir::store_f(t, y.mutable_data(), i, ir::load_f(x.dtype, x.data, i));
        else
          ir::store_i(t, y.mutable_data(), i, ir::load_i(x.dtype, x.data, i));
      }
      x = std::move(y);
    }
    const size_t piece = static_cast<size_t>((p.start[k + 1] - p.start[k]) * inner) * width;
    for (int64_t o = 0; o < outer && piece > 0; ++o)
      std::memcpy(out[0].mutable_data() + static_cast<size_t>(o * row + p.start[k] * inner) * width,
                  x.data + static_cast<size_t>(o) * piece, piece);
  }
  return {};
}

Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  std::vector<const ir::Value*> in;
  for (const ir::Value* v : n.inputs()) {
    // It adds nothing, but a delegate would still have it among its inputs.
    if (numel(shape_of(v)) == Dim(0)) return fail(Code::kKeptOnHost, "an operand is empty");
    in.push_back(v);
  }
  const int64_t rank = rank_of(n.result()), dim = Call::of(n).axis("dim", rank);
  for (const ir::Value* v : in)
    if (v->tensor()->dtype != n.result()->tensor()->dtype)
      return fail(Code::kKeptOnHost, "operands of different dtypes");
  return emit_concatenate(out, std::move(in), n.result(), dim);
}

// Without its empty operands.
Result<std::vector<ir::Value*>> without_empty(const ir::Node& n, Builder& b) {
  std::vector<ir::Value*> some;
  for (ir::Value* v : n.inputs())
    if (!(numel(shape_of(v)) == Dim(0))) some.push_back(v);
  if (some.empty() || some.size() == n.inputs().size()) return std::vector<ir::Value*>{};
  ir::Value* y =
      some.size() == 1 ? some[0] : b("aten.cat", {ir::Arg::values(some), Call::of(n).axis("dim", rank_of(n.result()))});
  if (y && y->tensor()->dtype != n.result()->tensor()->dtype) y = b("aten._to_copy", {y, n.result()->tensor()->dtype});
  return all(b, {y});
}

// --- stack: unsqueeze and cat ---
Result<Types> infer_stack(const Call& c) {
  const auto xs = c.operands("tensors");
  if (xs.empty()) {
    c.error("[stack.1] no tensors");
    return Types{};
  }
  TensorType t = c.type(xs[0]);
  for (int k : xs) {
    const TensorType& x = c.type(k);
    t.dtype = promote(t.dtype, x.dtype).value_or(t.dtype);
    if (x.rank() != t.rank()) {
      c.error(fmt::format("[stack.2] ranks {} and {}", t.rank(), x.rank()));
      return Types{t};
    }
    for (size_t d = 0; d < t.rank(); ++d) {
      if (t.shape[d].is_constant() && x.shape[d].is_constant() && !(t.shape[d] == x.shape[d]))
        c.error(fmt::format("[stack.2] sizes {} and {} in dim {}", t.shape[d].value(), x.shape[d].value(), d));
      if (x.shape[d].is_constant()) t.shape[d] = x.shape[d];
    }
  }
  const int64_t dim = c.axis("dim", static_cast<int64_t>(t.rank()) + 1);
  t.shape.insert(t.shape.begin() + dim, Dim(static_cast<int64_t>(xs.size())));
  return Types{t};
}
Result<Point> eval_stack(const Call& c, size_t) {
  const int64_t rank = static_cast<int64_t>(c.type(0).rank());
  return moved_point(
      c, dtype_of(c),
      [d = static_cast<size_t>(c.axis("dim", rank + 1)), xs = c.operands("tensors")](Index at, int64_t* in) {
        for (size_t i = 0, j = 0; i < at.size(); ++i)
          if (i != d) in[j++] = at[i];
        return xs[static_cast<size_t>(at[d])];
      });
}
Result<std::vector<ir::Value*>> stack_as_cat(const ir::Node& n, Builder& b) {
  const int64_t dim = Call::of(n).axis("dim", rank_of(n.result()));
  std::vector<ir::Value*> xs;
  for (ir::Value* v : n.inputs()) xs.push_back(b("aten.unsqueeze", {v, dim}));
  return all(b, {b("aten.cat", {ir::Arg::values(xs), dim})});
}

// --- hstack, vstack, dstack, column_stack: tensors brought to a rank, then cat ---
// Where unsqueezes add dims to an operand of a rank, and where the pieces join (by the rank after that).
struct Joining {
  std::vector<int64_t> (*unsqueezes)(size_t rank);
  int64_t (*dim)(size_t rank);
  Shape shape(Shape s) const {
    for (int64_t d : unsqueezes(s.size())) s.insert(s.begin() + d, Dim(1));
    return s;
  }
};
using NewDims = std::vector<int64_t>;
NewDims at_least_1d(size_t r) { return r == 0 ? NewDims{0} : NewDims{}; }
NewDims at_least_2d(size_t r) { return r == 0 ? NewDims{0, 0} : r == 1 ? NewDims{0} : NewDims{}; }
NewDims at_least_3d(size_t r) {
  return r == 0 ? NewDims{0, 0, 0} : r == 1 ? NewDims{0, 2} : r == 2 ? NewDims{2} : NewDims{};
}
NewDims columns(size_t r) { return r == 0 ? NewDims{0, 0} : r == 1 ? NewDims{1} : NewDims{}; }

OpDef joined(const char* schema, Joining j) {
  OpDef d;
  d.schema_text = schema;
  d.infer = [j](const Call& c) -> Result<Types> {
    const auto xs = c.operands("tensors");
    if (xs.empty()) {
      c.error("[hstack.1] no tensors");
      return Types{};
    }
    TensorType t{c.type(xs[0]).dtype, j.shape(c.type(xs[0]).shape)};
    const size_t dim = static_cast<size_t>(j.dim(t.rank()));
    for (size_t k = 1; k < xs.size(); ++k) {
      const Shape s = j.shape(c.type(xs[k]).shape);
      t.dtype = promote(t.dtype, c.type(xs[k]).dtype).value_or(t.dtype);
      if (s.size() != t.rank()) {
        c.error(fmt::format("[hstack.2] ranks {} and {}", t.rank(), s.size()));
        return Types{t};
      }
      for (size_t i = 0; i < s.size(); ++i) {
        if (i == dim)
          t.shape[i] = t.shape[i] + s[i];
        else if (t.shape[i].is_constant() && s[i].is_constant() && !(t.shape[i] == s[i]))
          c.error(fmt::format("[hstack.2] sizes {} and {} in dim {}", t.shape[i].value(), s[i].value(), i));
      }
    }
    return Types{t};
  };
  d.decompose = [j](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    std::vector<ir::Value*> xs;
    size_t rank = 0;
    for (ir::Value* v : n.inputs()) {
      for (int64_t at : j.unsqueezes(static_cast<size_t>(rank_of(v)))) v = b("aten.unsqueeze", {v, at});
      rank = static_cast<size_t>(rank_of(v));
      xs.push_back(v);
    }
    return all(b, {b("aten.cat", {ir::Arg::values(xs), j.dim(rank)})});
  };
  return d;
}

}  // namespace

std::vector<OpDef> define_cat() {
  OpDef d;
  d.schema_text = "aten::cat(Tensor[] tensors, int dim=0) -> Tensor";
  d.infer = infer_types;
  d.eval = eval;
  d.whole = whole;
  d.lower = lower;
  d.stock = "aten::cat.out";
  d.decompose = without_empty;
  std::vector<OpDef> out{d};
  for (const char* s : {"aten::concat(Tensor[] tensors, int dim=0) -> Tensor",
                        "aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor"}) {
    OpDef e = d;
    e.schema_text = s;
    e.lower = nullptr;
    e.stock = "";
    e.decompose = becomes("aten.cat");
    out.push_back(e);
  }
  OpDef stack;
  stack.schema_text = "aten::stack(Tensor[] tensors, int dim=0) -> Tensor";
  stack.infer = infer_stack;
  stack.eval = eval_stack;
  stack.decompose = stack_as_cat;
  out.push_back(stack);
  out.push_back(joined("aten::hstack(Tensor[] tensors) -> Tensor",
                       {at_least_1d, [](size_t rank) -> int64_t { return rank == 1 ? 0 : 1; }}));
  out.push_back(joined("aten::vstack(Tensor[] tensors) -> Tensor", {at_least_2d, [](size_t) -> int64_t { return 0; }}));
  out.push_back(joined("aten::dstack(Tensor[] tensors) -> Tensor", {at_least_3d, [](size_t) -> int64_t { return 2; }}));
  out.push_back(
      joined("aten::column_stack(Tensor[] tensors) -> Tensor", {columns, [](size_t) -> int64_t { return 1; }}));
  return out;
}

}  // namespace edgewright::ops
