// src/passes/safe_softmax.cc - safe-softmax: the guard that an exported attention puts around its softmax, so that a row of -inf
// alone gives zeros, in fewer and cheaper operations.
//   where(not any(not (x == -inf), d), 0, softmax(x, d))  -> _safe_softmax(x, d); also by all() and masked_fill
//   _safe_softmax(x, d), no row of x can be all -inf      -> _softmax(x, d)
//   _safe_softmax(products + mask, -1)                    -> _softmax(products + mask', -1) * open
//     open: 1 where the mask's row has an entry above -inf, 0 elsewhere; mask': the mask with 0 in closed rows
// A sum of products is -inf only where a factor was not finite or the sum overflowed; such inputs are not judged (the class is
// reassociated). So only what is added to them, the mask, can close a row on purpose, and a mask is small: one for all heads.
#include <algorithm>

#include "ops/masks.h"
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

bool is_zero(const Value* v) {
  if (!v) return false;
  if (scalar_constant(v) == 0.0) return true;
  const Node* n = v->producer;
  if (!n) {
    if (!v->is_constant()) return false;
    const std::vector<double> all = ops::to_doubles(*v->data);
    return std::all_of(all.begin(), all.end(), [](double d) { return d == 0; });
  }
  if (n->is("aten.full_like") || n->is("aten.full")) {
    const ir::Arg a = n->arg("fill_value");
    return (a.i() && *a.i() == 0) || (a.f() && *a.f() == 0);
  }
  return n->is("aten.zeros_like") || n->is("aten.zeros");
}

Node* negated(const Value* v) { return producer(v, "aten.logical_not"); }

std::optional<int64_t> dim_of(const Node& n) {
  const ir::Arg d = n.arg("dim");
  const auto rank = static_cast<int64_t>(n.inputs()[0]->tensor()->rank());
  if (!d.i() || rank == 0) return std::nullopt;
  return *d.i() < 0 ? *d.i() + rank : *d.i();
}

// The tensor of which `closed` says, row by row along `dim`, whether all of it is -inf; the nodes on the way are added to `seen`.
const Value* guarded(const Value* closed, int64_t dim, std::vector<Node*>& seen) {
  const auto step = [&](Node* n) {
    if (n) seen.push_back(n);
    return n;
  };
  const auto reduces = [&](const Node* n) {
    const ir::Arg keepdim = n->arg("keepdim");
    return keepdim.b() && *keepdim.b() && dim_of(*n) == dim;
  };
  Node* equal = nullptr;
  if (Node* all = step(producer(closed, "aten.all.dim"))) {
    if (reduces(all)) equal = producer(all->inputs()[0], "aten.eq.Scalar");
  } else if (Node* outer = step(negated(closed))) {
    Node* any = step(producer(outer->inputs()[0], "aten.any.dim"));
    Node* open = any && reduces(any) ? step(negated(any->inputs()[0])) : nullptr;
    equal = open ? producer(open->inputs()[0], "aten.eq.Scalar") : nullptr;
  }
  if (!step(equal)) return nullptr;
  const ir::Arg bound = equal->arg("other");
  return bound.f() && *bound.f() == -INFINITY ? equal->inputs()[0] : nullptr;
}

Match guard(Node& n, Rewriter& rw) {
  const bool is_where = n.is("aten.where.self");
  Value* y = n.arg(is_where ? "other" : "self").value();
  Node* softmax = producer(y, "aten._softmax");
  if (!softmax || !dim_of(*softmax)) return no_match();
  const ir::Arg fill = is_where ? n.arg("self") : n.arg("value");
  if (!(is_where ? is_zero(fill.value()) : (fill.i() && *fill.i() == 0) || (fill.f() && *fill.f() == 0)))
    return no_match();
  std::vector<Node*> seen{softmax};
  const Value* x = guarded(n.arg(is_where ? "condition" : "mask").value(), *dim_of(*softmax), seen);
  if (!x) return no_match();
  if (x != softmax->inputs()[0]) return no_match("the guard looks at something else than the softmax");
  if (*n.result()->tensor() != *y->tensor() || *y->tensor() != *x->tensor())
    return no_match("the guard changes the shape or dtype");
  for (Node* m : seen) rw.matched(m);
  return rw.replace(rw("aten._safe_softmax", {softmax->inputs()[0], *dim_of(*softmax)}));
}

// -inf only where a factor is not finite or a sum overflows.
bool is_product(const Value* v, int depth = 0) {
  const Node* n = v ? v->producer : nullptr;
  if (!n || depth > 8) return false;
  for (const char* op : {"aten.bmm", "aten.mm", "aten.matmul", "aten.linear", "aten.addmm", "xnn.fully_connected"})
    if (n->is(op)) return true;
  for (const char* op : {"aten.view", "aten.reshape", "aten._unsafe_view", "aten.permute", "aten.transpose.int",
                         "aten.unsqueeze", "aten.squeeze.dim", "aten.expand", "aten.clone"})
    if (n->is(op)) return is_product(n->inputs()[0], depth + 1);
  if (n->is("aten.mul.Scalar") || n->is("aten.div.Scalar") || n->is("aten.tanh"))
    return is_product(n->inputs()[0], depth + 1);
  if (n->is("aten.mul.Tensor") || n->is("aten.div.Tensor") || n->is("aten.add.Tensor") || n->is("aten.sub.Tensor")) {
    const auto finite = [&](const Value* x) {
      if (is_product(x, depth + 1)) return true;
      if (!x->is_constant() || !is_float(x->tensor()->dtype)) return false;
      const std::vector<double> all = ops::to_doubles(*x->data);
      return std::all_of(all.begin(), all.end(), [](double d) { return std::isfinite(d); });
    };
    return n->inputs().size() == 2 ? finite(n->inputs()[0]) && finite(n->inputs()[1])
                                   : is_product(n->inputs()[0], depth + 1);
  }
  return false;
}

Match safe(Node& n, Rewriter& rw) {
  Value* x = n.inputs()[0];
  const auto dim = dim_of(n);
  if (!dim || !n.arg("dtype").is_none()) return no_match();
  const auto plain = [&](Value* v) { return rw("aten._softmax", {v, *dim, false}); };
  rw.promise(Agreement::kReassociated);
  if (is_product(x)) return rw.replace(plain(x));
  Node* sum = producer(x, "aten.add.Tensor");
  if (!sum || *dim + 1 != static_cast<int64_t>(x->tensor()->rank()) || sum->inputs().size() != 2)
    return no_match("it is not seen what could mask a row");
  const ir::Arg alpha = sum->arg("alpha");
  if (!alpha.i() || *alpha.i() != 1) return no_match("a scaled mask");
  Value *scores = sum->inputs()[0], *mask = sum->inputs()[1];
  if (!is_product(scores)) std::swap(scores, mask);
  if (!is_product(scores) || scores->tensor()->shape != x->tensor()->shape)
    return no_match("it is not seen what could mask a row");
  if (ops::has_no_full_row(mask)) {
    rw.matched(sum);
    return rw.replace(plain(x));
  }
  const ir::Shape& s = mask->tensor()->shape;
  if (s.empty() || s.back() != x->tensor()->shape.back() || mask->tensor()->dtype != x->tensor()->dtype)
    return no_match("a mask that repeats along its rows");
  rw.matched(sum);
  Value* any = rw("aten.any.dim", {rw("aten.ne.Scalar", {mask, -INFINITY}), -1, true});
  Value* lifted = rw("aten.masked_fill.Scalar", {mask, rw("aten.logical_not", {any}), 0});
  Value* y = plain(rw("aten.add.Tensor", {scores, lifted}));
  return rw.replace(rw("aten.mul.Tensor", {y, rw("aten.to.dtype", {any, x->tensor()->dtype})}));
}

Match rewrite(Node& n, Rewriter& rw) { return n.is("aten._safe_softmax") ? safe(n, rw) : guard(n, rw); }

}  // namespace
PassDef define_safe_softmax() {
  return {.name = "safe-softmax",
          .roots = {"aten.where.self", "aten.masked_fill.Scalar", "aten._safe_softmax"},
          .rewrite = rewrite,
          .agreement = Agreement::kEqual,
          .summary = "softmax guarded against rows of -inf -> softmax, with the guard on the mask"};
}
}  // namespace edgewright::passes
