// src/ops/matmul.cc - aten.matmul: vectors, matrices and batches of matrices with broadcast batch dims.
#include "ops/products.h"
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

Shape batch_of(const Shape& s) { return s.size() > 2 ? Shape(s.begin(), s.end() - 2) : Shape{}; }

Result<Types> rule(const Call& c) {
  const TensorType &a = c.tensor("self"), &b = c.tensor("other");
  if (a.rank() < 1 || b.rank() < 1) c.error("[matmul.1] an operand has no dims");
  if (c.failed()) return Types{};
  check_product(c, a, b, a.shape.back(), b.shape[b.rank() == 1 ? 0 : b.rank() - 2]);
  Shape out = broadcast(c, batch_of(a.shape), batch_of(b.shape));
  if (a.rank() > 1) out.push_back(a.shape[a.rank() - 2]);
  if (b.rank() > 1) out.push_back(b.shape.back());
  return Types{TensorType{a.dtype, out}};
}

Contraction make(const Call& c) {
  const TensorType &a = c.type(0), &b = c.type(1);
  const size_t batch = std::max(a.rank(), b.rank()) > 2 ? std::max(a.rank(), b.rank()) - 2 : 0;
  const auto side = [&](int operand, const Shape& s) {
    Side r{operand, {}};
    const size_t own = batch_of(s).size();
    for (size_t d = 0; d < own; ++d)
      r.from.push_back(s[d] == Dim(1) ? Side::kFirst : static_cast<int>(batch - own + d));
    return r;
  };
  Contraction r{.dtype = a.dtype, .a = side(0, a.shape), .b = side(1, b.shape), .inner = {a.shape.back().value()}};
  int next = static_cast<int>(batch);
  if (a.rank() > 1) r.a.from.push_back(next++);
  r.a.from.push_back(~0);
  r.b.from.push_back(~0);
  if (b.rank() > 1) r.b.from.push_back(next);
  return r;
}

// PyTorch's own reductions to mm, mv, dot and bmm.
Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b) {
  ir::Value *x = n.arg("self").value(), *y = n.arg("other").value();
  const Shape &xs = shape_of(x), &ys = shape_of(y);
  const size_t rx = xs.size(), ry = ys.size();
  if (rx == 1 && ry == 1) return b.done({b("aten.dot", {x, y})});
  if (rx == 2 && ry == 1) return b.done({b("aten.mv", {x, y})});
  if (rx == 2 && ry == 2) return b.done({b("aten.mm", {x, y})});
  if (rx == 1) {
    ir::Value* r = b("aten.matmul", {b("aten.unsqueeze", {x, 0}), y});
    return b.done({b("aten.squeeze.dim", {r, -2})});
  }
  if (ry == 1) {
    ir::Value* r = b("aten.matmul", {x, b("aten.unsqueeze", {y, 1})});
    return b.done({b("aten.squeeze.dim", {r, -1})});
  }
  // A matrix on the right: the batch dims on the left are just more rows.
  const auto size = [&](ir::Value* v, size_t d) { return size_arg(b, v, static_cast<int64_t>(d)); };
  if (ry == 2) {
    ir::Value* rows = b("aten.view", {x, ir::ArgList{-1, size(x, rx - 1)}});
    if (xs.back() == Dim(0)) return std::vector<ir::Value*>{};
    ir::ArgList out;
    for (size_t d = 0; d + 1 < rx; ++d) out.push_back(size(x, d));
    out.push_back(size(y, 1));
    return b.done({b("aten.view", {b("aten.mm", {rows, y}), out})});
  }
  // Equal batch dims after expansion, flattened to one.
  const size_t rank = std::max(rx, ry);
  const auto batch_arg = [&](size_t d) {  // dim d of the result's batch
    const size_t dx = d + rx - rank, dy = d + ry - rank;
    const bool has_x = d + rx >= rank, has_y = d + ry >= rank;
    if (has_x && (!has_y || xs[dx] != Dim(1))) return size(x, dx);
    return size(y, dy);
  };
  const auto flat = [&](ir::Value* v, const Shape& s) -> ir::Value* {
    const Shape& other = v == x ? ys : xs;
    if (s.size() == 3 && rank == 3 && (other.size() < 3 || s[0] == other[other.size() - 3] || other[0] == Dim(1)))
      return v;
    ir::ArgList sizes;
    bool same = s.size() == rank;
    for (size_t d = 0; d + 2 < rank; ++d) {
      sizes.push_back(batch_arg(d));
      const size_t dx = d + rx - rank, dy = d + ry - rank;
      const Dim want = d + rx >= rank && (d + ry < rank || xs[dx] != Dim(1)) ? xs[dx] : ys[dy];
      same = same && s[d] == want;
    }
    sizes.push_back(size(v, s.size() - 2));
    sizes.push_back(size(v, s.size() - 1));
    ir::Value* e = same ? v : b("aten.expand", {v, sizes});
    if (rank == 3) return e;
    ir::ArgList three{-1, size(v, s.size() - 2), size(v, s.size() - 1)};
    return b("aten.view", {e, three});
  };
  for (const Shape* s : {&xs, &ys})
    for (const Dim& d : *s)
      if (d == Dim(0)) return std::vector<ir::Value*>{};  // -1 would be ambiguous; nothing to compute anyway
  ir::ArgList out;
  for (size_t d = 0; d + 2 < rank; ++d) out.push_back(batch_arg(d));
  out.push_back(size(x, rx - 2));
  out.push_back(size(y, ry - 1));
  ir::Value* fx = flat(x, xs);
  ir::Value* fy = flat(y, ys);
  ir::Value* r = b("aten.bmm", {fx, fy});
  return b.done({rank == 3 ? r : b("aten.view", {r, out})});
}

// Batches of matrices as they are, without the views that flatten the batch dims: XNNPACK's reshape copies, and derives one size only.
Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  const ir::Value *x = n.arg("self").value(), *y = n.arg("other").value();
  const size_t rank = shape_of(x).size();
  const auto open = [](const Dim& d) { return !d.is_constant(); };
  if (y->is_constant() && shape_of(y).size() == 2 && rank > 2 &&
      std::count_if(shape_of(x).begin(), shape_of(x).end(), open) > 1)
    return out.fully_connected(x, y, nullptr, n.result(), true);
  if (rank < 3 || shape_of(y).size() != rank) return fail(Code::kKeptOnHost, "{} has a simpler form", n.name());
  return out.batch_matmul(x, y, n.result());
}

}  // namespace

std::vector<OpDef> define_matmul() {
  OpDef d = contraction("aten::matmul(Tensor self, Tensor other) -> Tensor", rule, make);
  d.lower = lower;
  d.agreement = Agreement::kReassociated;
  d.decompose = decompose;
  return {d};
}
}  // namespace edgewright::ops
