#include "partition/partition.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "ops/control_flow.h"
#include "ops/xnn_support.h"

namespace edgewright::partition {

using ir::Graph;
using ir::Node;
using ir::Value;

namespace {

// Whether it may as well stay outside: it moves data, and the stock runtime has a kernel that does it.
bool only_moves_data(const Node& n) {
  const ops::OpDef* d = ops::def(n);
  if (!d || (d->stock_limit && !d->stock_limit(n).empty())) return false;
  static const std::set<std::string_view> kMoves = {
      "aten.permute",          "aten.permute_copy",    "aten.view",          "aten.view_copy",
      "aten.reshape",          "aten._unsafe_view",    "aten.transpose.int", "aten.t",
      "aten.slice.Tensor",     "aten.select.int",      "aten.cat",           "aten.squeeze",
      "aten.squeeze.dim",      "aten.squeeze.dims",    "aten.unsqueeze",     "aten.clone",
      "aten.expand",           "aten.constant_pad_nd", "aten.stack",         "aten.flatten.using_ints",
      "aten.split_with_sizes", "aten.split.Tensor",    "aten.unbind.int",    "aten._to_copy"};
  return kMoves.contains(n.name());
}

// Stage numbers: nodes of one stage that XNNPACK takes form a convex region, since any path that leaves the region through an
// outside node comes back in a later stage.
std::map<const Node*, int> stages(const Graph& g, const std::set<const Node*>& taken) {
  std::map<const Node*, int> stage;
  for (const auto& n : g.nodes()) {
    int s = taken.contains(n.get()) ? 0 : -1;
    for (const Value* v : n->inputs()) {
      if (!v->producer) continue;
      const int p = stage.at(v->producer);
      s = std::max(s, taken.contains(n.get()) && !taken.contains(v->producer) ? p + 1 : p);
    }
    stage[n.get()] = s;
  }
  return stage;
}

// One region becomes one node. `region` is in execution order.
Result<void> outline(Graph& g, const std::vector<Node*>& region) {
  auto body = std::make_shared<Graph>();
  const std::set<const Node*> inside(region.begin(), region.end());
  std::map<const Value*, Value*> map;
  std::vector<Value*> inputs;
  const std::function<ir::Arg(const ir::Arg&)> copy = [&](const ir::Arg& a) -> ir::Arg {
    if (Value* v = a.value()) {
      auto [it, fresh] = map.try_emplace(v, nullptr);
      if (fresh) {
        if (v->is_constant()) {
          it->second = body->add_constant(v->name, *v->data);
        } else {
          it->second = body->add_input(v->name, v->type);
          inputs.push_back(v);
        }
      }
      return it->second;
    }
    if (const auto* l = a.list()) {
      ir::ArgList out;
      for (const ir::Arg& x : *l) out.push_back(copy(x));
      return out;
    }
    return a;
  };
  std::vector<Value*> outputs;
  Node* last = region.back();
  for (Node* n : region) {
    std::vector<ir::Arg> args;
    for (const ir::Arg& a : n->args()) args.push_back(copy(a));
    std::vector<ir::Type> types;
    for (size_t i = 0; i < n->num_results(); ++i) types.push_back(n->result(i)->type);
    Node* c = body->add(n->op(), std::move(args), std::move(types), nullptr, n->origin, n->result()->name);
    for (size_t i = 0; i < n->num_results(); ++i) {
      Value* r = n->result(i);
      map[r] = c->result(i);
      const bool leaves = g.is_output(r) || std::any_of(r->users.begin(), r->users.end(),
                                                        [&](const Node* u) { return !inside.contains(u); });
      if (!leaves) continue;
      outputs.push_back(r);
      body->outputs.emplace_back(c->result(i));
    }
  }
  // The call stands where the last node of the region stood: all inputs are there. Users in between come later in the order
  // already, because stages were laid out one after another.
  EW_ASSIGN(Node * call, ops::add_node(g, "xnn.delegate", {ir::Arg::values(inputs), body}, last, last->origin));
  for (size_t i = 0; i < outputs.size(); ++i) g.replace_all_uses(outputs[i], call->result(i));
  for (auto it = region.rbegin(); it != region.rend(); ++it) g.erase(*it);
  return {};
}

std::string hint_for(const std::string& reason) {
  if (reason.find("is f64") != std::string::npos || reason.find("is f16") != std::string::npos ||
      reason.find("is bf16") != std::string::npos)
    return "convert the module to float32 before exporting";
  if (reason.find("known only at run time") != std::string::npos) return "export with static shapes";
  if (reason.find("is not a constant") != std::string::npos) return "make it a parameter or buffer";
  return {};
}

// What nobody reads is not worth a delegate, and XNNPACK aborts on it. (Also where the dead-code pass is off.)
void drop_unread(Graph& g) {
  std::vector<Node*> nodes = g.snapshot();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const ops::OpDef* d = ops::def(**it);
    bool keep = !d || d->has_side_effect || d->functional;
    for (size_t i = 0; i < (*it)->num_results() && !keep; ++i)
      keep = !(*it)->result(i)->users.empty() || g.is_output((*it)->result(i));
    if (!keep) g.erase(*it);
  }
}

}  // namespace

Result<PartitionResult> partition(Graph& g) {
  drop_unread(g);
  PartitionResult out;
  std::set<const Node*> taken;
  for (const auto& n : g.nodes()) {
    std::string reason;
    if (ops::control_kind(n->op())) {
      for (const ir::Arg& a : n->args()) {
        if (!a.graph() || !*a.graph()) continue;
        EW_ASSIGN(PartitionResult inner, partition(**a.graph()));
        out.delegates += inner.delegates;
        std::move(inner.refusals.begin(), inner.refusals.end(), std::back_inserter(out.refusals));
      }
      out.refusals.push_back({n->num_results() ? n->result()->name : n->name(),
                              "control flow runs outside XNNPACK; what its graphs compute is delegated on its own", "",
                              n.get()});
      continue;
    }
    if (ops::xnn_takes(*n, &reason)) {
      taken.insert(n.get());
    } else {
      out.refusals.push_back({n->num_results() ? n->result()->name : n->name(), reason, hint_for(reason), n.get()});
    }
  }
  std::map<const Node*, int> stage = stages(g, taken);
  // Regions without computation go back outside; that may join or part stages, so they are counted again.
  for (bool changed = true; changed;) {
    changed = false;
    std::map<int, bool> computes;
    for (const Node* n : taken) computes[stage.at(n)] |= !only_moves_data(*n);
    for (auto it = taken.begin(); it != taken.end();) {
      if (computes[stage.at(*it)]) {
        ++it;
        continue;
      }
      out.refusals.push_back(
          {(*it)->result()->name, "it only moves data and no computation stands beside it", "", *it});
      it = taken.erase(it);
      changed = true;
    }
    if (changed) stage = stages(g, taken);
  }
  // Execution order: stage by stage, outside nodes of a stage after its region; within each, as before.
  std::vector<Node*> order = g.snapshot();
  std::stable_sort(order.begin(), order.end(), [&](const Node* a, const Node* b) {
    return std::pair(stage.at(a), !taken.contains(a)) < std::pair(stage.at(b), !taken.contains(b));
  });
  for (Node* n : order) g.move_before(n, nullptr);
  std::map<int, std::vector<Node*>> regions;
  for (Node* n : order)
    if (taken.contains(n)) regions[stage.at(n)].push_back(n);
  for (auto& [s, region] : regions) {
    EW_TRY(outline(g, region));
    ++out.delegates;
  }
  g.remove_unused_constants();
  return out;
}

}  // namespace edgewright::partition
