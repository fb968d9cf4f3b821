// src/passes/inline_graphs.cc - inline-graphs: a node that only runs its graph -> the graph's nodes.
//
// wrap_with_set_grad_enabled and wrap_with_autocast change nothing when a program runs as it was exported: the dtypes stand in the
// types. A cond whose predicate is known runs one branch. What the inner graph writes to its inputs in place stays visible, as the nodes
// write to the very values that were given.
#include <functional>

#include "ops/control_flow.h"
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

// The values that stand for the outputs of `inner`, whose nodes now stand before `at`.
std::vector<ir::Arg> splice(Graph& g, Node& at, const Graph& inner, const ir::ArgList& given) {
  std::unordered_map<const Value*, ir::Arg> to;
  for (size_t i = 0; i < given.size(); ++i) to[inner.inputs()[i]] = given[i];
  for (const Value* v : inner.constants()) to[v] = g.add_constant(v->name, *v->data);
  const std::function<ir::Arg(const ir::Arg&)> copy = [&](const ir::Arg& a) -> ir::Arg {
    if (a.value()) return to.at(a.value());
    if (const auto* l = a.list()) {
      ir::ArgList out;
      for (const ir::Arg& x : *l) out.push_back(copy(x));
      return out;
    }
    if (a.graph() && *a.graph()) return (*a.graph())->clone();
    return a;
  };
  for (const auto& n : inner.nodes()) {
    std::vector<ir::Arg> args;
    for (const ir::Arg& a : n->args()) args.push_back(copy(a));
    std::vector<ir::Type> types;
    for (size_t i = 0; i < n->num_results(); ++i) types.push_back(n->result(i)->type);
    Node* c = g.add(n->op(), std::move(args), std::move(types), &at, n->origin,
                    n->num_results() == 1 ? n->result()->name : "");
    for (size_t i = 0; i < n->num_results(); ++i) {
      c->result(i)->strides = n->result(i)->strides;
      to[n->result(i)] = c->result(i);
    }
  }
  for (const auto& op : inner.foreign_ops)
    if (std::find(g.foreign_ops.begin(), g.foreign_ops.end(), op) == g.foreign_ops.end()) g.foreign_ops.push_back(op);
  std::vector<ir::Arg> out;
  for (const ir::Arg& a : inner.outputs) out.push_back(copy(a));
  return out;
}

// Which of a cond's graphs runs, if that is known.
std::optional<size_t> chosen(const ir::Arg& predicate) {
  if (predicate.b()) return *predicate.b() ? 0 : 1;
  const Value* v = predicate.value();
  if (!v || !v->is_constant() || v->data->numel() != 1) return std::nullopt;
  return ir::load_i(v->data->dtype, v->data->data, 0) != 0 ? 0 : 1;
}

Result<bool> run(ir::Program& p) {
  Graph& g = *p.graph;
  bool changed = false;
  // An inlined graph may hold such nodes itself; it stands before the node it came from, so the whole list is looked at again.
  for (bool again = true; again;) {
    again = false;
    for (Node* n : g.snapshot()) {
      const auto kind = ops::control_kind(n->op());
      if (kind != ops::ControlKind::kWrap && kind != ops::ControlKind::kCond) continue;
      auto flow = ops::control_flow(*n);
      if (!flow) return std::unexpected(std::move(flow.error()));
      const std::optional<size_t> which = kind == ops::ControlKind::kWrap ? 0 : chosen(flow->predicate);
      if (!which) continue;
      const Graph& inner = *flow->graphs[*which];
      if (!inner.writes.empty() || !inner.states().empty()) continue;
      bool values_only = true;  // a number that an output gives cannot stand for a result that others use
      for (const ir::Arg& a : inner.outputs) values_only &= a.value() != nullptr;
      for (const Value* v : inner.inputs())
        for (size_t i = 0; i < flow->more.size(); ++i)
          if (inner.inputs()[i] == v && inner.is_output(v)) values_only &= flow->more[i].value() != nullptr;
      if (!values_only) continue;
      const auto out = splice(g, *n, inner, flow->more);
      for (size_t i = 0; i < n->num_results(); ++i) g.replace_all_uses(n->result(i), out[i].value());
      g.erase(n);
      changed = again = true;
    }
  }
  if (changed) g.remove_unused_constants();
  return changed;
}

}  // namespace
PassDef define_inline_graphs() {
  return {.name = "inline-graphs",
          .run = run,
          .agreement = Agreement::kBitExact,
          .summary = "a node that only runs its graph -> the graph's nodes"};
}
}  // namespace edgewright::passes
