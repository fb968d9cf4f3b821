// src/passes/convert_to_linear.cc - convert-to-linear: matrix products -> linear, with weight and bias inside.
//   mm(x, permute(w, [1,0]))                 -> linear(x, w)
//   addmm(b, x, permute(w, [1,0]))           -> linear(x, w, b)         b a row of n
//   bmm(x, view(expand(permute(w))))         -> linear(x, w)            one matrix for the whole batch
//   bmm(x, view(expand(w)))                  -> view(mm(view(x), w))    where w is a matrix that stands as [k, n]
//   add(view(linear(x, w)), b)               -> view(linear(x, w, b))   b a constant row of n, on either side; likewise mm
//   addmm(b, x, w, alpha, beta)              -> alpha into a constant w, beta into a constant b; a b that is no row is added
// linear(x, w) is defined as x times the transpose of w. What an operand is, its index map says: the pass asks whether the
// transpose of the operand is less work to make than the operand, so that any chain of permutes, views, slices and expands counts
// and a transpose upstream of anything else does not. A transpose that was folded into a constant is gone: the mm stays.
#include <cmath>
#include <cstring>

#include "passes/movement.h"

namespace edgewright::passes {
namespace {

using ops::IndexMap;

// A number that is not 1 as its argument; other kinds than ints and floats count as unknown.
std::optional<double> number(const ir::Arg& a) {
  if (a.f()) return *a.f();
  if (a.i()) return static_cast<double>(*a.i());
  return std::nullopt;
}

// A matrix that an operand is, transposed or not, made in the cheapest way.
struct Matrix {
  Value* from = nullptr;
  Steps steps;  // from -> [n, k] where transposed, [k, n] otherwise
  bool transposed = false;
  std::vector<Node*> path;  // what the match relies on
};

// The operand [k, n], or [batch, k, n] that is one matrix throughout. nullopt: a batch of different ones, or a size known only at
// run time.
std::optional<Matrix> matrix_of(Value* v) {
  constexpr Cost kNever{INT64_MAX, 0, 0};
  std::optional<Matrix> best;
  Cost least;
  for (Source& s : sources(v)) {
    IndexMap m = std::move(s.map);
    if (m.dims().size() == 3) {
      for (const IndexMap::Factor& f : m.dims()[0].factors)
        if (f.stride != 0) m = IndexMap::identity({});
      if (m.dims().empty()) continue;
      m = m.at_first(0);
    }
    if (m.dims().size() != 2) return std::nullopt;
    const IndexMap turned = m.permuted({1, 0});
    auto as_is = m.chain(), transpose = turned.chain();
    const Cost a = as_is ? cost(m, *as_is) : kNever, t = transpose ? cost(turned, *transpose) : kNever;
    const bool transposed = t < a;
    const Cost c = std::min(a, t);
    // A source whose transpose is less work than what it is decides; among those of one kind the cheapest, then the furthest.
    if (c == kNever || (best && transposed == best->transposed ? least < c : best && best->transposed)) continue;
    least = c;
    best = Matrix{s.value, std::move(transposed ? *transpose : *as_is), transposed, s.path};
  }
  return best;
}

// A constant batch of equal matrices as one of them.
Value* equal_matrices(Value* v, Rewriter& rw) {
  if (!v->is_constant() || v->data->sizes.size() != 3 || v->data->numel() == 0) return nullptr;
  const ir::Tensor t = v->data->strides[0] == 0 ? *v->data : v->data->contiguous();
  const size_t one = static_cast<size_t>(t.sizes[1] * t.sizes[2]) * size_of(t.dtype);
  for (int64_t i = 1; i < t.sizes[0] && t.strides[0] != 0; ++i)
    if (std::memcmp(t.data, t.data + static_cast<size_t>(i) * one, one) != 0) return nullptr;
  ir::Tensor first = t;
  first.sizes.erase(first.sizes.begin());
  first.strides.erase(first.strides.begin());
  return rw.constant(std::move(first), v->name);
}

// One element per column: all dims but the last are 1, the last is n or (to be repeated) 1. Not wider than the product.
bool is_row(const Value* b, const ir::Dim& n, size_t rank) {
  const auto* t = b->tensor();
  if (!t || t->rank() > rank) return false;
  for (size_t d = 0; d + 1 < t->rank(); ++d)
    if (!(t->shape[d] == ir::Dim(1))) return false;
  return t->rank() == 0 || t->shape.back() == n || t->shape.back() == ir::Dim(1);
}
// The row as [n].
Value* row(Rewriter& rw, Value* b, const ir::Dim& n) {
  const ir::Shape& s = b->tensor()->shape;
  if (s.size() == 1 && s[0] == n) return b;
  if (!s.empty() && s.back() == n) return rw("aten.view", {b, ir::Arg::ints({n.value()})});
  return rw("aten.expand", {s.empty() ? b : rw("aten.view", {b, ir::Arg::ints({1})}), ir::Arg::ints({n.value()})});
}
Value* times(Rewriter& rw, Value* v, const ir::Arg& factor) {
  return number(factor) == 1.0 ? v : rw("aten.mul.Scalar", {v, factor});
}

// mm, addmm, bmm.
Match product(Node& n, Rewriter& rw) {
  const bool addmm = n.is("aten.addmm"), batched = n.is("aten.bmm");
  Value *x = n.arg(addmm ? "mat1" : "self").value(), *w = n.arg("mat2").value();
  if (!is_float(w->tensor()->dtype)) return no_match("an integer matmul has no linear form");
  Value* bias = addmm ? n.arg("self").value() : nullptr;
  const ir::Arg alpha = addmm ? n.arg("alpha") : ir::Arg(1), beta = addmm ? n.arg("beta") : ir::Arg(1);
  const auto a = number(alpha), b = number(beta);
  if (!a || !b || !std::isfinite(*a) || !std::isfinite(*b)) return no_match("alpha or beta is not a finite constant");

  std::optional<Matrix> m;
  if (Value* one = batched ? equal_matrices(w, rw) : nullptr) {
    m = Matrix{one, {}, false, {}};
  } else if (!batched && permutation(w->producer) == std::vector<int64_t>{1, 0} && sources(w).empty()) {
    m = Matrix{w->producer->inputs()[0], {}, true, {w->producer}};  // of any size
  } else {
    m = matrix_of(w);
  }
  if (batched && !m) return no_match("each batch has its own matrix");
  // A computed batch of one stays what it is.
  if (batched && !from_constants(m->from) && w->tensor()->shape[0] == ir::Dim(1))
    return no_match("the matrix is computed, and a batch of one");
  const bool transposed = m && m->transposed, scaled = *a != 1 && *a != 0 && from_constants(w);
  const bool moved = m && (transposed || batched);
  const ir::Dim columns = w->tensor()->shape.back();
  const bool inside =
      bias && is_row(bias, columns, 2) &&
      (from_constants(bias) || (*b == 1 && bias->tensor()->rank() == 1 && bias->tensor()->shape[0] == columns)) &&
      (*a == 1 || scaled) && *b != 0;
  const bool bias_fits =
      !bias || (inside && *b == 1 && bias->tensor()->rank() == 1 && bias->tensor()->shape[0] == columns);
  if (!moved && (!bias || (*a == 1 && bias_fits))) return no_match("the second operand is not a transpose");
  if (!moved && !scaled && !inside && !from_constants(w))
    return no_match("the weight is computed, and nothing goes inside");

  Value* weight = w;
  if (moved) {
    // What stays for other users is not made a second time.
    if (!m->steps.empty() && removable(m->path) == 0) return no_match("the weight has other users");
    for (Node* p : m->path) rw.matched(p);
    weight = ops::build(rw.builder(), m->from, m->steps);
  }
  if (scaled) weight = times(rw, weight, alpha);
  Value* inner = inside ? times(rw, row(rw, bias, columns), beta) : nullptr;
  Value* y;
  if (transposed)
    y = rw("aten.linear", {x, weight, inner ? ir::Arg(inner) : ir::Arg()});
  else if (inner && !batched)
    y = rw("aten.addmm", {inner, x, weight});
  else if (batched) {
    const auto xs = sizes_of(x);
    if (!xs) return no_match("a size is known only at run time");
    y = rw("aten.mm", {rw.view(x, {(*xs)[0] * (*xs)[1], (*xs)[2]}), weight});
    y = rw("aten.view", {y, ir::Arg::ints({(*xs)[0], (*xs)[1], columns.value()})});
  } else
    y = rw("aten.mm", {x, weight});
  if (!scaled) y = times(rw, y, alpha);
  // beta = 0 ignores the bias, NaN and all.
  if (bias && !inner && *b != 0) y = rw("aten.add.Tensor", {y, times(rw, bias, beta)});
  return rw.replace(y);
}

// The product without a bias that v is, its weight made of constants; null otherwise.
Node* product_of(const Value* v) {
  Node* n = v->producer;
  if (!n) return nullptr;
  if (n->is("aten.linear") && n->arg("bias").is_none() && n->arg("weight").value()->tensor()->rank() == 2)
    return from_constants(n->arg("weight").value()) ? n : nullptr;
  if (n->is("aten.mm")) return from_constants(n->arg("mat2").value()) ? n : nullptr;
  return nullptr;
}

// add or sub of a product, behind movement that leaves its columns where they are, and a row of constants.
Match add(Node& n, Rewriter& rw) {
  Value *x = n.arg("self").value(), *y = n.arg("other").value();
  if (!x || !y || !x->tensor() || !y->tensor()) return no_match();
  const bool subtract = n.is("aten.sub.Tensor");
  const ir::Arg alpha = n.arg("alpha");
  const auto factor = number(alpha);
  if (!factor || !std::isfinite(*factor) || *factor == 0) return no_match();
  const bool swapped = !from_constants(y);
  if (swapped && (subtract || *factor != 1)) return no_match();
  Value *p = swapped ? y : x, *bias = swapped ? x : y;
  if (!from_constants(bias) || p->tensor()->rank() < 2) return no_match();
  if (!(p->type == n.result()->type) || bias->tensor()->dtype != p->tensor()->dtype) return no_match();
  const ir::Dim columns = p->tensor()->shape.back();
  if (!columns.is_constant() || !is_row(bias, columns, p->tensor()->rank())) return no_match();

  Node* made = product_of(p);
  std::vector<Node*> path;
  if (!made) {
    for (const Source& s : sources(p)) {
      made = product_of(s.value);
      if (!made) continue;
      // The last dim is the columns, in order, and nothing else steps within a row.
      const int64_t width = columns.value();
      const IndexMap& m = s.map;
      const auto& last = m.dims().back().factors;
      bool rows = s.value->tensor()->shape.back() == columns && m.offset() % width == 0 &&
                  (width == 1 || last == std::vector<IndexMap::Factor>{{width, 1}});
      for (size_t d = 0; d + 1 < m.dims().size(); ++d)
        for (const IndexMap::Factor& f : m.dims()[d].factors) rows &= f.stride % width == 0;
      if (!rows) return no_match("the bias is not added to columns of the product");
      path = s.path;
      break;
    }
  }
  if (!made) return no_match();
  if (!(made->result()->tensor()->shape.back() == columns)) return no_match();
  std::vector<Node*> all = path;
  all.push_back(made);
  if (!only_user(p) || removable(all) != all.size()) return no_match("the product without its bias has another user");
  for (Node* q : all) rw.matched(q);
  Value* b = times(rw, row(rw, bias, columns), alpha);
  if (subtract) b = rw("aten.neg", {b});
  Value* z = made->is("aten.mm") ? rw("aten.addmm", {b, made->arg("self"), made->arg("mat2")})
                                 : rw("aten.linear", {made->arg("input"), made->arg("weight"), b});
  for (size_t k = path.size(); k-- > 0 && z;) {
    std::vector<ir::Arg> args = path[k]->args();
    args[0] = z;
    const Value* shown = k == 0 ? p : path[k - 1]->args()[0].value();
    const auto results = rw.multi(path[k]->name(), std::move(args));
    z = results.empty() ? nullptr : results[shown->result_index];
  }
  return rw.replace(z);
}

Match rewrite(Node& n, Rewriter& rw) {
  return n.is("aten.add.Tensor") || n.is("aten.sub.Tensor") ? add(n, rw) : product(n, rw);
}

}  // namespace
PassDef define_convert_to_linear() {
  return {.name = "convert-to-linear",
          .roots = {"aten.mm", "aten.addmm", "aten.bmm", "aten.add.Tensor", "aten.sub.Tensor"},
          .rewrite = rewrite,
          .agreement = Agreement::kReassociated,
          .summary = "mm, addmm or bmm of a transposed weight -> linear; the bias added to a product goes inside"};
}
}  // namespace edgewright::passes
