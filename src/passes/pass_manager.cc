#include "passes/pass_manager.h"

#include <algorithm>
#include <chrono>

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
      if (v->producer && v->producer != n && std::find(makers.begin(), makers.end(), v->producer) == makers.end()) makers.push_back(v->producer);
    std::erase(work, n);
    g.erase(n);
    for (Node* m : makers)
      if (std::find(work.begin(), work.end(), m) == work.end()) work.push_back(m);
  }
}

// One sweep of a rewriting pass over the nodes that stood there at its start. Returns how many rewrites were applied.
Result<int> sweep(const PassDef& pass, ir::Program& p, const PassOptions& o, PassLog& log, Validator& validator) {
  Graph& g = *p.graph;
  int applied = 0;
  const std::set<std::string_view> roots(pass.roots.begin(), pass.roots.end());
  // The list is walked itself: an erased node is never the next one, since only nodes before the root die.
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    Node* n = it->get();
    ++it;
    if (!roots.empty() && !roots.contains(n->name())) continue;
    Rewriter rw(g, *n);
    Match m = pass.rewrite(*n, rw);
    const auto note = [&](std::string reason, bool ok, bool fault) {
      log.events.push_back({pass.name, n->num_results() ? n->result()->name : n->name(), std::move(reason), n->origin ? n->origin->module_path : "", ok, fault});
    };
    if (!m.applied) {
      erase_if_dead(g, rw.new_nodes());
      if (m.failure) note(m.failure->str(), false, false);
      else if (!m.reason.empty()) note(m.reason, false, false);
      continue;
    }
    for (size_t i = 0; i < rw.replacement().size(); ++i) {
      const Value* v = rw.replacement()[i];
      if (v && !ir::may_equal(v->type, n->result(i)->type)) {
        erase_if_dead(g, rw.new_nodes());
        return fail(Code::kInternal, "pass {}: {} of type {} would be replaced by {}", pass.name, n->result(i)->name, str(n->result(i)->type), str(v->type));
      }
    }
    if (auto problem = validator.check(pass, rw); problem) {
      note(*problem, false, true);
      ++log.faults;
      erase_if_dead(g, rw.new_nodes());
      if (o.verify == Verify::kStrict) return fail(Code::kInternal, "pass {} on {}: {}", pass.name, n->name(), *problem);
      continue;
    }
    note({}, true, false);
    ++applied;
    for (size_t i = 0; i < n->num_results(); ++i)
      if (Value* v = rw.replacement()[i]) {
        if (v->strides.empty()) v->strides = n->result(i)->strides;
        g.replace_all_uses(n->result(i), v);
      }
    // What the root alone kept alive goes with it; nodes after the root are not touched.
    erase_if_dead(g, {n});
  }
  return applied;
}

}  // namespace

Result<void> run_passes(ir::Program& p, const std::vector<std::string>& names, const PassOptions& o, PassLog& log) {
  constexpr int kMaxSweeps = 16;  // a pass that still finds work then is left: each state in between is sound
  Validator validator(o.verify, p.ranges);
  for (const std::string& name : names) {
    if (o.disabled.contains(name)) continue;
    const PassDef* pass = find(name);
    if (!pass) return fail(Code::kUsage, "there is no pass named '{}'", name);
    const auto start = std::chrono::steady_clock::now();
    PassStats stats{name, 0, 0};
    if (pass->run) {
      const uint64_t before = p.graph->hash();
      EW_ASSIGN(const bool changed, pass->run(p));
      const bool differs = p.graph->hash() != before;
      if (changed != differs) return fail(Code::kInternal, "pass {} says '{}' but the graph {}", name, changed ? "changed" : "no change", differs ? "differs" : "is the same");
      stats.applied = changed;
    } else {
      for (int i = 0; i < kMaxSweeps; ++i) {
        EW_ASSIGN(const int n, sweep(*pass, p, o, log, validator));
        stats.applied += n;
        if (n == 0) break;
      }
      if (stats.applied) p.graph->remove_unused_constants();
    }
    if (stats.applied)
      if (auto ok = ir::verify_structure(*p.graph); !ok) return with_note(std::move(ok.error()), "after pass " + name);
    stats.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    log.stats.push_back(stats);
    if (stats.applied && o.after) EW_TRY(o.after(name, p));
  }
  return {};
}

}  // namespace edgewright::passes
