// src/passes/sink_permutes.cc - sink-permutes: permutes move towards the outputs, where they meet and cancel.
//   permute, view, slice of a permute -> composed with it (passes/movement.h)
//   op(permute(a, p), permute(b, p)) -> permute(op(a, b), p)      op elementwise; constants, and what costs no more than a view,
//                                                                 are permuted the other way
//   op(view(x, s))                   -> view(op(x), s)            op elementwise on one operand
//   cat([permute(a, p), ...], d)     -> permute(cat([a, ...], p[d]), p)
//   mean(permute(x, p), dims)        -> mean(x, p[dims]) (permuted back where dims are kept)
//   softmax(permute(x, p), -1)       -> permute(softmax(x, ...))  where p keeps the last dim
//   constant_pad_nd(permute(x, p))   -> permute(constant_pad_nd(x), p); slice, select, index_select alike
// Moving elements commutes with computing on each of them.
#include <algorithm>
#include <set>

#include "passes/movement.h"

namespace edgewright::passes {
namespace {

using Perm = std::vector<int64_t>;

Perm inverse(const Perm& p) {
  Perm q(p.size());
  for (size_t i = 0; i < p.size(); ++i) q[static_cast<size_t>(p[i])] = static_cast<int64_t>(i);
  return q;
}
// Elementwise ops over all their tensor operands, with broadcasting.
const std::set<std::string_view>& elementwise() {
  static const std::set<std::string_view> s = {
      "aten.relu",       "aten.relu6",      "aten.sigmoid",      "aten.tanh",       "aten.hardtanh",
      "aten.clamp",      "aten.hardswish",  "aten.hardsigmoid",  "aten.silu",       "aten.gelu",
      "aten.elu",        "aten.leaky_relu", "aten.abs",          "aten.neg",        "aten.exp",
      "aten.log",        "aten.sqrt",       "aten.rsqrt",        "aten.square",     "aten.floor",
      "aten.ceil",       "aten.round",      "aten.sin",          "aten.cos",        "aten.pow.Tensor_Scalar",
      "aten.add.Tensor", "aten.add.Scalar", "aten.sub.Tensor",   "aten.sub.Scalar", "aten.mul.Tensor",
      "aten.mul.Scalar", "aten.div.Tensor", "aten.div.Scalar",   "aten.maximum",    "aten.minimum",
      "aten.clamp_min",  "aten.clamp_max",  "aten.reciprocal",   "aten.clone",      "aten.mish",
      "aten.softplus",   "xnn.add",         "xnn.sub",           "xnn.mul",         "xnn.div",
      "xnn.minimum",     "xnn.maximum",     "aten._prelu_kernel"};
  return s;
}
// The same of integers that stand for floats.
bool elementwise_quantized(const Node& n) {
  return n.is("quantized_decomposed.quantize_per_tensor") || n.is("quantized_decomposed.dequantize_per_tensor") ||
         n.is("xnn.q_add") || n.is("xnn.q_sub") || n.is("xnn.q_mul") || n.is("xnn.q_sigmoid") || n.is("xnn.q_tanh") ||
         n.is("xnn.q_hardswish") || n.is("xnn.q_elu") || n.is("xnn.q_leaky_relu");
}

// The permute that makes v, with its dims; null where v is something else.
Node* permute_of(const Value* v, Perm& p) {
  Node* n = v ? v->producer : nullptr;
  const auto perm = permutation(n);
  if (!perm) return nullptr;
  p = *perm;
  return n;
}

// permute(view(v, sizes), p) where that is one of v's sources, or a view of one; null where elements would have to move.
Value* free_permute(Rewriter& rw, Value* v, const std::vector<int64_t>& sizes, const Perm& p) {
  const auto widen = ops::IndexMap::reshape(sizes_of(v).value(), sizes);
  const Source* viewed = nullptr;
  const auto all = sources(v);
  for (const Source& s : all) {
    const auto wide = widen ? s.map.then(*widen) : std::nullopt;
    if (!wide) break;
    const ops::IndexMap m = wide->permuted(p);
    if (m.is_reshape() && (!viewed || m.is_identity())) viewed = &s;
    if (m.is_identity()) break;
  }
  if (!viewed) return nullptr;
  for (Node* n : viewed->path) rw.matched(n);
  const ops::IndexMap m = viewed->map.then(*widen)->permuted(p);
  return m.is_identity() ? viewed->value : rw.view(viewed->value, m.sizes());
}

Match pointwise(Node& n, Rewriter& rw) {
  const auto inputs = n.inputs();
  Perm p;
  Node* first = nullptr;
  for (Value* v : inputs) {
    Perm q;
    if (Node* t = permute_of(v, q)) {
      if (first && q != p) return no_match("its operands are permuted differently");
      first = t;
      p = q;
    }
  }
  if (!first) {  // a view stands between an op and its activation as a permute does
    Node* view = inputs.size() == 1 ? producer(inputs[0], "aten.view") : nullptr;
    const auto sizes = sizes_of(n.result());
    if (!view || !sizes || !only_user(view->result()) || view->result()->type != n.result()->type) return no_match();
    rw.matched(view);
    std::vector<ir::Arg> args = n.args();
    args[0] = view->args()[0];
    Value* y = rw(n.name(), std::move(args));
    return rw.replace(y ? rw.view(y, *sizes) : y);
  }
  const size_t rank = p.size();
  if (n.result()->tensor()->rank() != rank) return no_match("broadcasting adds dims");
  std::vector<ir::Arg> args = n.args();
  for (ir::Arg& a : args) {
    Value* v = a.value();
    if (!v || !v->tensor()) continue;
    Perm q;
    if (Node* t = permute_of(v, q)) {
      rw.matched(t);
      a = t->inputs()[0];
      continue;
    }
    const auto sizes = sizes_of(v);
    if (!sizes) return no_match("an operand's size is known only at run time");
    const bool single = std::all_of(sizes->begin(), sizes->end(), [](int64_t s) { return s == 1; });
    if (single && sizes->size() <= rank && (sizes->empty() || v->is_constant())) {
      if (!sizes->empty()) a = rw.view(v, std::vector<int64_t>(rank, 1));
      continue;
    }
    std::vector<int64_t> full(rank - std::min(rank, sizes->size()), 1);
    full.insert(full.end(), sizes->begin(), sizes->end());
    if (v->is_constant()) {
      a = rw.permute(full == *sizes ? v : rw.view(v, full), inverse(p));
      continue;
    }
    Value* moved = free_permute(rw, v, full, inverse(p));
    if (!moved) return no_match("one operand is permuted and another is not");
    a = moved;
  }
  Value* y = rw(n.name(), std::move(args));
  return rw.replace(y ? rw.permute(y, p) : y);
}

Match rewrite(Node& n, Rewriter& rw) {
  if (n.num_results() != 1 || !n.result()->tensor()) return no_match();
  if (elementwise().contains(n.name()) || elementwise_quantized(n)) return pointwise(n, rw);
  Perm p;
  const bool picks = n.is("aten.slice.Tensor") || n.is("aten.index_select") || n.is("aten.select.int");
  if (permutation(&n) || (movement(n) && !(picks && permute_of(n.inputs()[0], p)))) return compose(n, rw);
  if (n.is("aten.cat")) {
    const ir::Arg list = n.arg("tensors"), dim = n.arg("dim");
    if (!list.list() || !dim.i()) return no_match();
    ir::ArgList xs;
    std::vector<Node*> nodes;
    for (const ir::Arg& a : *list.list()) {
      Perm q;
      if (Node* t = permute_of(a.value(), q)) {
        if (!nodes.empty() && q != p) return no_match("its operands are permuted differently");
        p = q;
        nodes.push_back(t);
      }
    }
    if (nodes.empty()) return no_match();
    for (const ir::Arg& a : *list.list()) {
      Perm q;
      Value* v = a.value();
      const auto sizes = sizes_of(v);
      if (Node* t = permute_of(v, q))
        xs.push_back(t->inputs()[0]);
      else if (Value* moved = sizes && sizes->size() == p.size() ? free_permute(rw, v, *sizes, inverse(p)) : nullptr)
        xs.push_back(moved);
      else
        return no_match("one operand is permuted and another is not");
    }
    for (Node* t : nodes) rw.matched(t);
    const int64_t d = *dim.i() < 0 ? *dim.i() + static_cast<int64_t>(p.size()) : *dim.i();
    Value* y = rw("aten.cat", {std::move(xs), p[static_cast<size_t>(d)]});
    return rw.replace(y ? rw.permute(y, p) : y);
  }
  if (n.is("aten.mean.dim")) {
    Node* t = permute_of(n.inputs()[0], p);
    const ir::Arg dim = n.arg("dim"), keep = n.arg("keepdim");
    if (!t || !dim.list() || dim.list()->empty() || !keep.b()) return no_match();
    const auto rank = static_cast<int64_t>(p.size());
    std::vector<int64_t> dims;
    std::vector<bool> reduced(p.size(), false);
    for (const ir::Arg& a : *dim.list()) {
      if (!a.i()) return no_match();
      const int64_t d = p[static_cast<size_t>(*a.i() < 0 ? *a.i() + rank : *a.i())];
      dims.push_back(d);
      reduced[static_cast<size_t>(d)] = true;
    }
    std::sort(dims.begin(), dims.end());
    Perm rest;  // what is left of p when the reduced dims are gone
    if (*keep.b()) {
      rest = p;
    } else {
      Perm position(p.size());
      int64_t at = 0;
      for (size_t d = 0; d < p.size(); ++d) position[d] = reduced[d] ? -1 : at++;
      for (int64_t d : p)
        if (!reduced[static_cast<size_t>(d)]) rest.push_back(position[static_cast<size_t>(d)]);
    }
    rw.matched(t);
    std::vector<ir::Arg> args = n.args();
    args[0] = t->inputs()[0];
    args[1] = ir::Arg::ints(dims);
    Value* y = rw(n.name(), std::move(args));
    const bool identity = std::is_sorted(rest.begin(), rest.end());
    return rw.replace(y && !identity ? rw.permute(y, rest) : y);
  }
  if (n.is("aten.constant_pad_nd")) {
    Node* t = permute_of(n.inputs()[0], p);
    const ir::Arg pad = n.arg("pad");
    if (!t || !pad.list()) return no_match();
    std::vector<ir::Arg> moved(2 * p.size(), ir::Arg(0));  // from the last dim backwards, as the op has it
    for (size_t i = 0; 2 * i + 1 < pad.list()->size(); ++i) {
      const auto d = static_cast<size_t>(p[p.size() - 1 - i]);
      moved[2 * (p.size() - 1 - d)] = (*pad.list())[2 * i];
      moved[2 * (p.size() - 1 - d) + 1] = (*pad.list())[2 * i + 1];
    }
    rw.matched(t);
    std::vector<ir::Arg> args = n.args();
    args[0] = t->inputs()[0];
    args[1] = ir::ArgList(std::move(moved));
    Value* y = rw(n.name(), std::move(args));
    return rw.replace(y ? rw.permute(y, p) : y);
  }
  if (picks) {
    Node* t = permute_of(n.inputs()[0], p);
    const ir::Arg dim = n.arg("dim");
    if (!t || !dim.i()) return no_match();
    const auto rank = static_cast<int64_t>(p.size());
    const auto at = static_cast<size_t>(*dim.i() < 0 ? *dim.i() + rank : *dim.i());
    const int64_t d = p[at];
    rw.matched(t);
    std::vector<ir::Arg> args = n.args();
    args[0] = t->inputs()[0];
    args[1] = d;
    Value* y = rw(n.name(), std::move(args));
    if (n.is("aten.select.int")) {  // the dim is gone, and those behind it move up
      p.erase(p.begin() + static_cast<ptrdiff_t>(at));
      for (int64_t& k : p) k -= k > d;
    }
    return rw.replace(y && !std::is_sorted(p.begin(), p.end()) ? rw.permute(y, p) : y);
  }
  if (n.is("aten._softmax") || n.is("aten.softmax.int")) {
    Node* t = permute_of(n.inputs()[0], p);
    const ir::Arg dim = n.arg("dim");
    if (!t || !dim.i()) return no_match();
    const auto rank = static_cast<int64_t>(p.size());
    const int64_t d = p[static_cast<size_t>(*dim.i() < 0 ? *dim.i() + rank : *dim.i())];
    if (d != rank - 1) return no_match("the dim would no longer be the last");
    rw.matched(t);
    std::vector<ir::Arg> args = n.args();
    args[0] = t->inputs()[0];
    args[1] = d;
    Value* y = rw(n.name(), std::move(args));
    return rw.replace(y ? rw.permute(y, p) : y);
  }
  return no_match();
}

}  // namespace
PassDef define_sink_permutes() {
  return {.name = "sink-permutes",
          .rewrite = rewrite,
          .agreement = Agreement::kBitExact,
          .summary = "op(permute(x)) -> permute(op(x)); neighbours cancel"};
}
}  // namespace edgewright::passes
