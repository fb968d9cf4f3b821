#include "passes/movement.h"

#include <algorithm>
#include <set>

#include "ops/xnn_support.h"

namespace edgewright::passes {
namespace {

using ops::IndexMap;
using Kind = IndexMap::Step::Kind;

constexpr size_t kMaxPath = 24;

bool has_elements(const Value* v) {
  const auto sizes = sizes_of(v);
  return sizes && std::none_of(sizes->begin(), sizes->end(), [](int64_t s) { return s == 0; });
}

// Keeps all elements in row-major order, whatever the sizes.
bool keeps_order(const Node& n) {
  static const std::set<std::string_view> kOps = {
      "aten.view",    "aten.reshape",     "aten._unsafe_view", "aten.view_copy",     "aten.flatten.using_ints",
      "aten.squeeze", "aten.squeeze.dim", "aten.squeeze.dims", "aten.unsqueeze",     "aten.unflatten.int",
      "aten.ravel",   "aten.view_as",     "aten.reshape_as",   "aten._reshape_alias"};
  return kOps.contains(n.name()) || is_copy(n);
}

// With an equal shape nothing is left of these; a slice also needs step 1, and then starts at 0.
bool keeps_all(const Node& n) {
  if (n.is("aten.expand") || n.is("aten.expand_copy") || n.is("aten.repeat") || n.is("aten.broadcast_to")) return true;
  if (!n.is("aten.slice.Tensor") && !n.is("aten.slice_copy.Tensor")) return false;
  const ir::Arg step = n.arg("step");
  return step.i() && *step.i() == 1;
}

// Where sizes are known only at run time, or some are 0: what holds for all sizes.
Match compose_any_size(Node& n, Rewriter& rw) {
  Value* x = n.inputs().empty() ? nullptr : n.inputs()[0];
  if (!x || !x->tensor() || !n.result()->tensor() || is_written(x)) return no_match();
  if (keeps_order(n) || keeps_all(n)) {
    if (x->type == n.result()->type) return rw.replace(x);
    Node* inner = x->producer;
    if (n.is("aten.view") && inner && inner->num_results() == 1 && keeps_order(*inner)) {
      rw.matched(inner);
      return rw.replace(rw("aten.view", {inner->inputs()[0], n.args()[1]}));
    }
    return no_match();
  }
  const auto outer = permutation(&n);
  if (!outer) return no_match();
  Node* inner = x->producer;
  const auto first = permutation(inner);
  std::vector<int64_t> both;
  for (int64_t d : *outer) both.push_back(first ? (*first)[static_cast<size_t>(d)] : d);
  const bool identity = std::is_sorted(both.begin(), both.end());
  if (!first) return identity ? rw.replace(x) : no_match();
  rw.matched(inner);
  Value* from = inner->inputs()[0];
  return rw.replace(identity ? from : rw.permute(from, both));
}

}  // namespace

bool is_copy(const Node& n) {
  static const std::set<std::string_view> kCopies = {
      "aten.clone",           "aten.alias",      "aten.detach",     "aten.contiguous",
      "aten.lift_fresh_copy", "aten.lift_fresh", "aten.alias_copy", "aten.detach_copy",
      "aten.dropout",         "aten._to_copy",   "aten.lift"};
  if (n.num_results() != 1 || !kCopies.contains(n.name())) return false;
  if (n.is("aten.dropout")) {
    const ir::Arg train = n.arg("train"), p = n.arg("p");
    if (!train.b() || (*train.b() && !(p.f() && *p.f() == 0))) return false;
  }
  return n.args()[0].value() && n.args()[0].value()->type == n.result()->type;
}

std::optional<IndexMap> movement(const Node& n, size_t r) {
  if (is_copy(n)) {
    if (!has_elements(n.result())) return std::nullopt;
    return IndexMap::identity(*sizes_of(n.result()));
  }
  return IndexMap::of(n, r);
}

std::vector<Source> sources(Value* v) {
  std::vector<Source> out;
  if (!v || !has_elements(v)) return out;
  out.push_back({v, IndexMap::identity(*sizes_of(v)), {}});
  while (Node* n = out.back().value->producer) {
    const Source& last = out.back();
    if (last.path.size() >= kMaxPath) break;
    const auto step = movement(*n, last.value->result_index);
    if (!step) break;
    auto map = step->then(last.map);
    if (!map) break;
    Source next{n->args()[0].value(), std::move(*map), last.path};
    next.path.push_back(n);
    out.push_back(std::move(next));
  }
  return out;
}

size_t removable(const std::vector<Node*>& path) {
  for (size_t i = 1; i < path.size(); ++i) {
    size_t uses = 0;
    for (size_t r = 0; r < path[i]->num_results(); ++r) {
      uses += path[i]->result(r)->users.size();
      if (path[i]->graph().is_output(path[i]->result(r))) return i;
    }
    if (uses != 1) return i;
  }
  return path.size();
}

Cost cost(const IndexMap& map, const Steps& steps) {
  Cost c;
  std::vector<int64_t> now = map.source_sizes();
  const auto elements = [&] {
    int64_t n = 1;
    for (int64_t s : now) n *= s;
    return n;
  };
  for (const IndexMap::Step& s : steps) {
    ++c.nodes;
    switch (s.kind) {
      case Kind::kView: now = s.values; continue;
      case Kind::kExpand: now = s.values; break;
      case Kind::kSlice:
        now[static_cast<size_t>(s.dim)] = (s.end - s.start + s.step - 1) / s.step;
        c.moving += s.step != 1;  // taken in pieces
        break;
      case Kind::kSelect: now.erase(now.begin() + s.dim); break;
      case Kind::kPermute: {
        std::vector<int64_t> to;
        for (int64_t d : s.values) to.push_back(now[static_cast<size_t>(d)]);
        now = std::move(to);
        break;
      }
      case Kind::kFlip: break;
    }
    ++c.moving;
    c.elements += elements();
  }
  return c;
}

Match compose(Node& n, Rewriter& rw) {
  if (n.num_results() != 1 || !n.result()->tensor()) return no_match();
  if (is_written(n.result())) return no_match("it is written in place");
  if (!has_elements(n.result())) return compose_any_size(n, rw);
  const auto from = sources(n.result());
  if (from.size() < 2) return no_match();
  for (const Source& s : from)
    if (is_written(s.value)) return no_match("it is written in place");
  const std::vector<Node*>& path = from.back().path;
  const size_t goes = removable(path);
  const Source* best = nullptr;
  Steps steps;
  Cost least, before;
  for (size_t k = 1; k < from.size(); ++k) {
    // What the nodes that would go cost now.
    if (k <= goes) {
      const Node* gone = path[k - 1];
      ++before.nodes;
      if (!keeps_order(*gone)) {
        ++before.moving;
        before.elements += ir::numel(from[k - 1].value->tensor()->shape).value();
      }
    }
    auto chain = from[k].map.chain();
    if (!chain) continue;
    const Cost now = cost(from[k].map, *chain);
    // Neither more nodes, nor more of them that move, nor more to move; less of something, or the same from further back.
    if (now.nodes > before.nodes || now.moving > before.moving || now.elements > before.elements) continue;
    if (!(now < before) && k <= goes) continue;
    // Among equals the furthest source; what a nearer source would leave standing counts.
    Cost left = now;
    left.nodes += static_cast<int64_t>(goes - std::min(k, goes));
    if (best && left > least) continue;
    best = &from[k];
    least = left;
    steps = std::move(*chain);
  }
  if (!best) return no_match();
  for (Node* p : best->path)
    if (p != &n) rw.matched(p);
  Value* y = ops::build(rw.builder(), best->value, steps);
  if (!y) return rw.replace(y);
  // What XNNPACK takes stays so.
  const bool taken =
      std::all_of(best->path.begin(), best->path.begin() + static_cast<ptrdiff_t>(std::min(goes, best->path.size())),
                  [](const Node* p) { return ops::xnn_takes(*p); });
  std::string reason;
  if (taken)
    for (const Node* made : rw.new_nodes())
      if (!ops::xnn_takes(*made, &reason)) return no_match("the shorter chain would leave XNNPACK: " + reason);
  return rw.replace(y);
}

bool is_written(const Value* v) {
  const auto views = [](const Node& n) {
    const ops::OpDef* d = ops::def(n);
    return d && !d->view_of.empty() && !n.args().empty() && n.args()[0].value();
  };
  while (v->producer && views(*v->producer)) v = v->producer->args()[0].value();
  const std::function<bool(const Value*)> below = [&](const Value* x) {
    for (const Node* u : x->users) {
      const ops::OpDef* d = ops::def(*u);
      if (!d || u->args().empty() || u->args()[0].value() != x) continue;
      if (d->functional) return true;
      if (!views(*u)) continue;
      for (size_t i = 0; i < u->num_results(); ++i)
        if (below(u->result(i))) return true;
    }
    return false;
  };
  return below(v);
}

bool from_constants(const Value* v) {
  const std::function<bool(const Value*, int)> made = [&](const Value* x, int depth) {
    if (x->is_constant()) return true;
    if (!x->producer || depth == 0) return false;
    const ops::OpDef* d = ops::def(*x->producer);
    if (!d || d->is_nondeterministic || d->has_side_effect || d->functional) return false;
    const auto in = x->producer->inputs();
    return !in.empty() && std::all_of(in.begin(), in.end(), [&](const Value* y) { return made(y, depth - 1); });
  };
  return v && made(v, 8);
}

}  // namespace edgewright::passes
