#include "passes/pass_manager.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ir/verify.h"
#include "passes/validate.h"

namespace edgewright::passes {

namespace {

// Erases `n` and, through its operands, everything that became dead; a rolled-back rewrite leaves no trace.
void erase_if_dead(Graph& g, std::vector<Node*> work) {
  while (!work.empty()) {
    Node* n = work.back();
    work.pop_back();
    const ops::OpDef* d = ops::def(*n);
    if (!d || d->has_side_effect || d->functional) continue;
    bool used = false;
    for (size_t i = 0; i < n->num_results(); ++i) used |= !n->result(i)->users.empty() || g.is_output(n->result(i));
    if (used) continue;
    std::vector<Node*> makers;
    for (Value* v : n->inputs())
      if (v->producer && v->producer != n && std::find(makers.begin(), makers.end(), v->producer) == makers.end())
        makers.push_back(v->producer);
    std::erase(work, n);
    g.erase(n);
    for (Node* m : makers)
      if (std::find(work.begin(), work.end(), m) == work.end()) work.push_back(m);
  }
}

// Nothing was edited: unlike ==, a NaN is what it was.
bool same(const ir::Arg& a, const ir::Arg& b);
bool same(const std::vector<ir::Arg>& a, const std::vector<ir::Arg>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ir::Arg& x, const ir::Arg& y) { return same(x, y); });
}
bool same(const ir::Arg& a, const ir::Arg& b) {
  if (a.list() && b.list()) return same(*a.list(), *b.list());
  return a == b || (a.f() && b.f() && std::isnan(*a.f()) && std::isnan(*b.f()));
}

// Notices edits that do not go through the rewriter: until a rewrite is accepted, no node but its own new ones may change.
class EditGuard {
 public:
  explicit EditGuard(Graph& g) : g_(g), outputs_(g.outputs) {
    for (const auto& w : g.writes) written_.push_back(w.value);
    for (const auto& n : g.nodes()) save(n.get());
  }
  void save(const Node* n) { args_[n] = n->args(); }
  void accepted(const Rewriter& rw) {
    for (const Node* n : rw.new_nodes()) save(n);
    for (const Value* v : rw.replacement())
      if (v)
        for (const Node* u : v->users) save(u);
    outputs_ = g_.outputs;
    written_.clear();
    for (const auto& w : g_.writes) written_.push_back(w.value);
  }
  // Looks at what lies around the match, puts back what was edited, and says what that was.
  std::optional<std::string> check(const Rewriter& rw) {
    std::set<Node*> around, fresh;
    for (Node* n : rw.new_nodes()) fresh.insert(n);
    const auto users = [&](const Value* v) { around.insert(v->users.begin(), v->users.end()); };
    std::vector<Node*> inside = rw.matched_nodes();
    inside.push_back(&rw.root());
    for (const Node* n : inside) {
      for (size_t i = 0; i < n->num_results(); ++i) users(n->result(i));
      for (const Value* v : n->inputs())
        if (!v->is_constant()) users(v);
    }
    for (const Node* n : fresh)
      for (size_t i = 0; i < n->num_results(); ++i) users(n->result(i));
    around.insert(inside.begin(), inside.end());
    std::optional<std::string> problem;
    for (Node* n : around)
      if (!fresh.contains(n)) put_back(n, problem);
    if (!same(g_.outputs, outputs_)) {
      g_.outputs = outputs_;
      problem = "an output was changed outside the rewrite";
    }
    for (size_t i = 0; i < g_.writes.size() && i < written_.size(); ++i)
      if (g_.writes[i].value != written_[i]) {
        g_.writes[i].value = written_[i];
        problem = "a written value was changed outside the rewrite";
      }
    return problem;
  }
  // All nodes, for edits far from any match.
  std::optional<std::string> check_all() {
    std::optional<std::string> problem;
    for (const auto& n : g_.nodes()) put_back(n.get(), problem);
    return problem;
  }

 private:
  void put_back(Node* n, std::optional<std::string>& problem) {
    const auto it = args_.find(n);
    if (it == args_.end() || same(it->second, n->args()) || it->second.size() != n->args().size()) return;
    problem = fmt::format("the arguments of {} were changed outside the rewrite",
                          n->num_results() ? n->result()->name : n->name());
    for (size_t i = 0; i < it->second.size(); ++i) n->set_arg(i, it->second[i]);
  }

  Graph& g_;
  std::unordered_map<const Node*, std::vector<ir::Arg>> args_;
  std::vector<ir::Arg> outputs_;
  std::vector<Value*> written_;
};

// One sweep of a rewriting pass over the nodes that stood there at its start. Returns how many rewrites were applied.
Result<int> sweep(const PassDef& pass, ir::Program& p, const PassOptions& o, PassLog& log, Validator& validator) {
  Graph& g = *p.graph;
  int applied = 0;
  std::optional<EditGuard> guard;
  if (o.verify != Verify::kOff) guard.emplace(g);
  const std::set<std::string_view> roots(pass.roots.begin(), pass.roots.end());
  // The list is walked itself: an erased node is never the next one, since only nodes before the root die.
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    Node* n = it->get();
    ++it;
    if (!roots.empty() && !roots.contains(n->name())) continue;
    Rewriter rw(g, *n);
    Match m = pass.rewrite(*n, rw);
    const auto note = [&](std::string reason, bool ok, bool fault) {
      log.events.push_back({pass.name, n->num_results() ? n->result()->name : n->name(), std::move(reason),
                            n->origin ? n->origin->module_path : "", ok, fault});
    };
    if (!m.applied) {
      erase_if_dead(g, rw.new_nodes());
      if (m.failure)
        note(m.failure->str(), false, false);
      else if (!m.reason.empty())
        note(m.reason, false, false);
      continue;
    }
    std::optional<std::string> problem;
    for (size_t i = 0; i < rw.replacement().size() && !problem; ++i) {
      const Value* v = rw.replacement()[i];
      if (v && !ir::may_equal(v->type, n->result(i)->type))
        problem = fmt::format("{} of type {} would be replaced by {}", n->result(i)->name, str(n->result(i)->type),
                              str(v->type));
    }
    if (guard)
      if (auto edit = guard->check(rw)) problem = edit;
    if (!problem) problem = validator.check(pass, rw);
    if (problem) {
      note(*problem, false, true);
      ++log.faults;
      erase_if_dead(g, rw.new_nodes());
      if (o.verify == Verify::kStrict)
        return fail(Code::kInternal, "pass {} on {}: {}", pass.name, n->name(), *problem);
      continue;
    }
    note({}, true, false);
    ++applied;
    for (size_t i = 0; i < n->num_results(); ++i)
      if (Value* v = rw.replacement()[i]) {
        if (v->strides.empty()) v->strides = n->result(i)->strides;
        g.replace_all_uses(n->result(i), v);
      }
    if (guard) guard->accepted(rw);
    // What the root alone kept alive goes with it; nodes after the root are not touched.
    erase_if_dead(g, {n});
  }
  if (guard)
    if (auto edit = guard->check_all()) {
      log.events.push_back({pass.name, "", *edit, "", false, true});
      ++log.faults;
      if (o.verify == Verify::kStrict) return fail(Code::kInternal, "pass {}: {}", pass.name, *edit);
    }
  return applied;
}

constexpr int kMaxSweeps = 16;  // a pass that still finds work then is left: each state in between is sound

// A pass over the whole graph: judged whole, against a copy, which is put back where they differ. Returns whether it changed anything.
Result<bool> run_whole(const PassDef& pass, ir::Program& p, const PassOptions& o, PassLog& log, Validator& validator) {
  const uint64_t before = p.graph->hash();
  std::unordered_map<const Value*, Value*> copied;
  std::shared_ptr<Graph> copy;
  if (o.verify != Verify::kOff) copy = p.graph->clone(&copied);
  EW_ASSIGN(const bool changed, pass.run(p));
  const bool differs = p.graph->hash() != before;
  if (changed != differs)
    return fail(Code::kInternal, "pass {} says '{}' but the graph {}", pass.name, changed ? "changed" : "no change",
                differs ? "differs" : "is the same");
  if (!changed || !copy) return changed;
  std::optional<std::string> problem;
  if (auto ok = ir::verify_structure(*p.graph); !ok)
    problem = ok.error().str();
  else
    problem = validator.check_whole(pass, *copy, *p.graph);
  if (!problem) return true;
  log.events.push_back({pass.name, "", *problem, "", false, true});
  ++log.faults;
  for (ir::InputLeaf& leaf : p.inputs)
    if (const auto it = copied.find(leaf.value); it != copied.end()) leaf.value = it->second;
  p.graph = std::move(copy);
  if (o.verify == Verify::kStrict) return fail(Code::kInternal, "pass {}: {}", pass.name, *problem);
  return false;
}

Result<void> run_one(ir::Program& p, const PassDef& pass, const PassOptions& o, PassLog& log, Validator& validator) {
  const auto start = std::chrono::steady_clock::now();
  PassStats stats{pass.name, 0, 0};
  if (pass.run) {
    EW_ASSIGN(stats.applied, run_whole(pass, p, o, log, validator));
  } else {
    for (int i = 0; i < kMaxSweeps; ++i) {
      EW_ASSIGN(const int n, sweep(pass, p, o, log, validator));
      stats.applied += n;
      if (n == 0) break;
    }
    if (stats.applied) p.graph->remove_unused_constants();
  }
  if (stats.applied)
    if (auto ok = ir::verify_structure(*p.graph); !ok)
      return with_note(std::move(ok.error()), "after pass " + pass.name);
  stats.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  log.stats.push_back(stats);
  if (stats.applied && o.after) EW_TRY(o.after(pass.name, p));
  return {};
}

}  // namespace

Result<void> run_pass(ir::Program& p, const PassDef& pass, const PassOptions& o, PassLog& log) {
  Validator validator(o.verify, p.ranges);
  return run_one(p, pass, o, log, validator);
}

Result<void> run_passes(ir::Program& p, const std::vector<std::string>& names, const PassOptions& o, PassLog& log) {
  Validator validator(o.verify, p.ranges);
  for (const std::string& name : names) {
    if (o.disabled.contains(name)) continue;
    const PassDef* pass = find(name);
    if (!pass) return fail(Code::kUsage, "there is no pass named '{}'", name);
    EW_TRY(run_one(p, *pass, o, log, validator));
  }
  return {};
}

}  // namespace edgewright::passes
