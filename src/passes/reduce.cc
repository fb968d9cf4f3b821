#include "passes/reduce.h"

#include <algorithm>
#include <set>

namespace edgewright::passes {
namespace {

constexpr int kMaxTries = 200;  // of a reduction

bool fails(const ir::Program& p, const PassDef& pass) {
  ir::Program again = p;
  again.graph = p.graph->clone();
  again.inputs.clear();
  PassLog log;
  (void)run_pass(again, pass, {.disabled = {}, .reduce = false}, log);
  return log.faults > 0;
}

std::shared_ptr<ir::Program> program_over(std::shared_ptr<Graph> g, const ir::Program& of) {
  auto p = std::make_shared<ir::Program>();
  p->graph = std::move(g);
  p->ranges = of.ranges;
  p->method = of.method;
  for (Value* v : p->graph->inputs()) p->inputs.push_back({v->name, v, {}, v->strides});
  for (const ir::Arg& o : p->graph->outputs) p->outputs.push_back({o.value() ? o.value()->name : ""});
  return p;
}

// These nodes as a graph of their own: what they read from others becomes an input, what others read an output.
std::shared_ptr<Graph> part_of(const Graph& g, const std::set<const Node*>& nodes) {
  auto part = std::make_shared<Graph>();
  std::unordered_map<const Value*, Value*> to;
  const auto value = [&](const Value* v) {
    auto [it, fresh] = to.try_emplace(v);
    if (fresh) {
      it->second = v->is_constant() ? part->add_constant(v->name, *v->data) : part->add_input(v->name, v->type);
      it->second->strides = v->strides;
    }
    return it->second;
  };
  const std::function<ir::Arg(const ir::Arg&)> copy = [&](const ir::Arg& a) -> ir::Arg {
    if (Value* v = a.value()) return value(v);
    if (const auto* l = a.list()) {
      ir::ArgList out;
      for (const ir::Arg& x : *l) out.push_back(copy(x));
      return out;
    }
    return a.graph() ? ir::Arg((*a.graph())->clone()) : a;
  };
  for (const auto& n : g.nodes()) {
    if (!nodes.contains(n.get())) continue;
    std::vector<ir::Arg> args;
    std::vector<ir::Type> types;
    for (const ir::Arg& a : n->args()) args.push_back(copy(a));
    for (size_t i = 0; i < n->num_results(); ++i) types.push_back(n->result(i)->type);
    Node* c = part->add(n->op(), std::move(args), std::move(types), nullptr, n->origin,
                        n->num_results() ? n->result()->name : std::string());
    for (size_t i = 0; i < n->num_results(); ++i) {
      part->rename(c->result(i), n->result(i)->name);
      c->result(i)->strides = n->result(i)->strides;
      to[n->result(i)] = c->result(i);
    }
  }
  for (const Node* n : nodes)
    for (size_t i = 0; i < n->num_results(); ++i) {
      const Value* v = n->result(i);
      const bool read_inside =
          std::any_of(v->users.begin(), v->users.end(), [&](Node* u) { return nodes.contains(u); });
      const bool read_outside =
          std::any_of(v->users.begin(), v->users.end(), [&](Node* u) { return !nodes.contains(u); });
      if (g.is_output(v) || read_outside || (!read_inside && v->users.empty() && i == 0))
        part->outputs.emplace_back(to.at(v));
    }
  return part;
}

// Removes what nothing needs any more, so that each try is a small graph.
void sweep_dead(Graph& g) {
  auto nodes = g.snapshot();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    const ops::OpDef* d = ops::def(**it);
    if (!d || d->has_side_effect || d->functional) continue;
    bool used = false;
    for (size_t i = 0; i < (*it)->num_results(); ++i)
      used |= !(*it)->result(i)->users.empty() || g.is_output((*it)->result(i));
    if (!used) g.erase(*it);
  }
  g.remove_unused_constants();
}

}  // namespace

std::shared_ptr<const ir::Program> reproduce(const ir::Program& p, const PassDef& pass, const Rewriter& rw) {
  std::set<const Node*> nodes(rw.matched_nodes().begin(), rw.matched_nodes().end());
  nodes.insert(&rw.root());
  for (int around = 0; around < 3; ++around) {
    auto part = program_over(part_of(*p.graph, nodes), p);
    if (fails(*part, pass)) return part;
    const std::set<const Node*> inner = nodes;
    for (const Node* n : inner) {
      for (size_t i = 0; i < n->num_results(); ++i)
        nodes.insert(n->result(i)->users.begin(), n->result(i)->users.end());
      for (const Value* v : n->inputs())
        if (v->producer && around > 0) nodes.insert(v->producer);
    }
  }
  return program_over(p.graph->clone(), p);
}

std::shared_ptr<const ir::Program> reproduce_whole(const ir::Program& p, const PassDef& pass) {
  std::shared_ptr<Graph> best = p.graph->clone();
  int tries = 0;
  const auto still_fails = [&](const std::shared_ptr<Graph>& g) {
    return ++tries <= kMaxTries && fails(*program_over(g, p), pass);
  };
  // Fewer outputs and writes.
  for (size_t i = best->outputs.size() + best->writes.size(); i-- > 0;) {
    auto g = best->clone();
    if (i >= best->outputs.size())
      g->writes.erase(g->writes.begin() + static_cast<ptrdiff_t>(i - best->outputs.size()));
    else if (best->outputs.size() > 1)
      g->outputs.erase(g->outputs.begin() + static_cast<ptrdiff_t>(i));
    else
      continue;
    sweep_dead(*g);
    if (still_fails(g)) best = std::move(g);
  }
  // A result becomes an input, so that what made it goes: first far from the inputs, in halves.
  for (size_t step = best->nodes().size() / 2; step > 0; step /= 2)
    for (size_t at = step; at <= best->nodes().size(); at += step) {
      std::unordered_map<const Value*, Value*> copied;
      auto g = best->clone(&copied);
      const auto nodes = best->snapshot();
      bool cut = false;
      for (size_t k = at - step; k < at && k < nodes.size(); ++k)
        for (size_t i = 0; i < nodes[k]->num_results(); ++i) {
          Value* v = copied.at(nodes[k]->result(i));
          if (v->users.empty()) continue;
          Value* in = g->add_input(v->name, v->type);
          in->strides = v->strides;
          g->replace_all_uses(v, in);
          cut = true;
        }
      sweep_dead(*g);
      if (cut && g->nodes().size() < best->nodes().size() && still_fails(g)) best = std::move(g);
    }
  return program_over(best, p);
}

}  // namespace edgewright::passes
