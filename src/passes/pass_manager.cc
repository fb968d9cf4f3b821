#include "passes/pass_manager.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "ir/verify.h"
#include "ops/control_flow.h"
#include "passes/prove.h"
#include "passes/reduce.h"
#include "passes/region.h"
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

// A size that only data decides, by the name that an op's rule gives it.
bool has_made_up_size(const ir::Type& t) {
  std::vector<std::string> symbols;
  if (const auto* x = std::get_if<ir::TensorType>(&t))
    for (const ir::Dim& d : x->shape) d.collect_symbols(symbols);
  if (const auto* x = std::get_if<ir::ScalarType>(&t); x && x->expr) x->expr->collect_symbols(symbols);
  return std::any_of(symbols.begin(), symbols.end(), [](const std::string& s) { return s.starts_with("u_"); });
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

// A copy of the graph to go back to.
class Checkpoint {
 public:
  // As it is without `fresh`, nodes that nobody uses yet.
  void take(const ir::Program& p, const std::vector<Node*>& fresh = {}) {
    copied_.clear();
    graph_ = p.graph->clone(&copied_);
    for (auto it = fresh.rbegin(); it != fresh.rend(); ++it)
      if ((*it)->num_results()) graph_->erase(copied_.at((*it)->result())->producer);
    if (!fresh.empty()) graph_->remove_unused_constants();
  }
  bool taken() const { return graph_ != nullptr; }
  const Graph& graph() const { return *graph_; }
  void restore(ir::Program& p) {
    for (ir::InputLeaf& leaf : p.inputs)
      if (const auto it = copied_.find(leaf.value); it != copied_.end()) leaf.value = it->second;
    p.graph = std::move(graph_);
    copied_.clear();
  }

 private:
  std::shared_ptr<Graph> graph_;
  std::unordered_map<const Value*, Value*> copied_;
};

constexpr int kMaxSweeps = 16;     // a pass that still finds work then is left: each state in between is sound
constexpr size_t kMaxQueue = 512;  // rewrites that wait for their verdicts

// Runs passes over one program.
//
// A local pass first goes ahead and has its rewrites judged in bulk, in parallel, at the end of each sweep. Where all are right, as is the
// rule, that is the result. Otherwise the graph is put back and the pass runs again, this time waiting for the verdict on each
// rewrite before it is accepted. (Verdicts are kept, so nothing is judged twice.) The outcome is that of the careful way in both cases.
class Runner {
 public:
  Runner(ir::Program& p, const PassOptions& o, PassLog& log)
      : p_(p), o_(o), log_(log), validator_(o.verify, p.ranges) {}

  Result<void> run(const PassDef& pass) {
    if (o_.progress) o_.progress(pass.name);
    const auto start = std::chrono::steady_clock::now();
    stats_ = {pass.name, 0, 0, 0};
    EW_TRY(pass.run ? run_whole(pass) : run_local(pass));
    if (stats_.applied)
      if (auto ok = ir::verify_structure(*p_.graph); !ok)
        return with_note(std::move(ok.error()), "after pass " + pass.name);
    stats_.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    log_.stats.push_back(stats_);
    if (stats_.applied && o_.after) EW_TRY(o_.after(pass.name, p_));
    return {};
  }

 private:
  Event event(const PassDef& pass, const Node& n, std::string reason) const {
    Event e;
    e.pass = pass.name;
    e.node = n.num_results() ? n.result()->name : n.name();
    e.reason = std::move(reason);
    if (n.origin) {
      e.module_path = n.origin->module_path;
      e.source = n.origin->stack_trace;
    }
    return e;
  }

  Result<void> fault(Event e) {
    e.fault = true;
    ++log_.faults;
    log_.events.push_back(std::move(e));
    const Event& last = log_.events.back();
    if (o_.verify != Verify::kStrict) return {};
    auto bad = fail(Code::kInternal, "pass {}: {}", last.pass, last.reason);
    bad.error().node = last.node;
    bad.error().origin = last.module_path;
    return bad;
  }

  // ---- local passes ----

  Result<void> run_local(const PassDef& pass) {
    const size_t events = log_.events.size();
    const int faults = log_.faults;
    EW_ASSIGN(const bool done, sweeps(pass, false));
    if (!done) {
      log_.events.resize(events);
      log_.faults = faults;
      stats_.applied = stats_.unjudged = 0;
      checkpoint_.restore(p_);
      EW_TRY(sweeps(pass, true));
    }
    if (stats_.applied) p_.graph->remove_unused_constants();
    if (o_.verify != Verify::kStrict || !stats_.applied) return {};
    const Verdict whole = validator_.check_whole(promise_, checkpoint_.graph(), *p_.graph, true);
    if (!whole.fault) return {};
    Event e;
    e.pass = pass.name;
    e.reason = *whole.fault;
    checkpoint_.restore(p_);
    return fault(std::move(e));
  }

  // False where a rewrite that was accepted on trust is wrong (never where `careful`); the graph is then of no use.
  Result<bool> sweeps(const PassDef& pass, bool careful) {
    checkpoint_ = {};
    queue_.clear();
    promise_ = pass.agreement;
    const std::set<std::string_view> roots(pass.roots.begin(), pass.roots.end());
    const auto is_root = [&](const Node& n) { return roots.empty() || roots.contains(n.name()); };
    if (std::none_of(p_.graph->nodes().begin(), p_.graph->nodes().end(), [&](const auto& n) { return is_root(*n); }))
      return true;
    std::optional<EditGuard> guard;
    if (o_.verify != Verify::kOff) guard.emplace(*p_.graph);
    for (int i = 0; i < kMaxSweeps; ++i) {
      const int before = stats_.applied;
      EW_TRY(sweep(pass, is_root, careful, guard));
      if (!settle()) return false;
      if (stats_.applied == before) break;
    }
    if (guard)
      if (auto edit = guard->check_all()) {
        Event e;
        e.pass = pass.name;
        e.reason = *edit;
        EW_TRY(fault(std::move(e)));
      }
    return true;
  }

  // One sweep over the nodes that stood there at its start.
  Result<void> sweep(const PassDef& pass, const auto& is_root, bool careful, std::optional<EditGuard>& guard) {
    Graph& g = *p_.graph;
    // The list is walked itself: an erased node is never the next one, since only nodes before the root die.
    for (auto it = g.nodes().begin(); it != g.nodes().end();) {
      Node* n = it->get();
      ++it;
      if (!is_root(*n)) continue;
      Rewriter rw(g, *n);
      Match m = pass.rewrite(*n, rw);
      if (!m.applied) {
        erase_if_dead(g, rw.new_nodes());
        if (m.failure)
          log_.events.push_back(event(pass, *n, m.failure->str()));
        else if (!m.reason.empty())
          log_.events.push_back(event(pass, *n, m.reason));
        continue;
      }
      std::optional<std::string> problem = types_differ(rw);
      if (guard)
        if (auto edit = guard->check(rw)) problem = edit;
      const Agreement promise = rw.promised().value_or(pass.agreement);
      if (o_.verify != Verify::kOff && !problem) problem = validator_.glance(rw);
      if (o_.verify != Verify::kOff && !problem) {
        Region region = region_of(rw, promise, validator_.ids());
        if (careful) {
          const Verdict v = validator_.judge({&region, 1})[0];
          problem = v.fault;
          stats_.unjudged += !v.judged;
        } else {
          queue_.push_back(std::move(region));
        }
      }
      if (problem) {
        Event e = event(pass, *n, *problem);
        for (const Node* x : rw.matched_nodes()) e.nodes.push_back(x->num_results() ? x->result()->name : x->name());
        e.nodes.push_back(e.node);
        erase_if_dead(g, rw.new_nodes());
        if (o_.reduce && o_.verify != Verify::kOff) e.reduced = reproduce(p_, pass, rw);
        EW_TRY(fault(std::move(e)));
        continue;
      }
      if (o_.verify != Verify::kOff && !checkpoint_.taken()) checkpoint_.take(p_, rw.new_nodes());
      promise_ = std::max(promise_, promise);
      log_.events.push_back(event(pass, *n, {}));
      log_.events.back().applied = true;
      ++stats_.applied;
      for (size_t i = 0; i < n->num_results(); ++i)
        if (Value* v = rw.replacement()[i]) {
          if (v->strides.empty()) v->strides = n->result(i)->strides;
          if (v->producer && has_made_up_size(v->type)) v->type = n->result(i)->type;  // whose ranges are known
          g.replace_all_uses(n->result(i), v);
        }
      if (guard) guard->accepted(rw);
      // What the root alone kept alive goes with it; nodes after the root are not touched.
      erase_if_dead(g, {n});
      if (queue_.size() >= kMaxQueue && !settle()) return {};  // sweeps() asks again and finds the same
    }
    return {};
  }

  static std::optional<std::string> types_differ(const Rewriter& rw) {
    for (size_t i = 0; i < rw.replacement().size(); ++i) {
      const Value *v = rw.replacement()[i], *was = rw.root().result(i);
      if (v && !ir::may_equal(v->type, was->type))
        return fmt::format("{} of type {} would be replaced by {}", was->name, str(was->type), str(v->type));
    }
    return std::nullopt;
  }

  // Waits for the verdicts on what is queued. False where one is bad; the queue then stays.
  bool settle() {
    if (queue_.empty()) return true;
    const auto verdicts = validator_.judge(queue_);
    int unjudged = 0;
    for (const Verdict& v : verdicts) {
      if (v.fault) return false;
      unjudged += !v.judged;
    }
    stats_.unjudged += unjudged;
    queue_.clear();
    return true;
  }

  // ---- passes over the whole graph ----

  // Judged whole, against a copy, which is put back where the two differ.
  Result<void> run_whole(const PassDef& pass) {
    const uint64_t before = p_.graph->hash();
    checkpoint_ = {};
    if (o_.verify != Verify::kOff) checkpoint_.take(p_);
    EW_ASSIGN(const bool changed, pass.run(p_));
    const bool differs = p_.graph->hash() != before;
    if (changed != differs)
      return fail(Code::kInternal, "pass {} says '{}' but the graph {}", pass.name, changed ? "changed" : "no change",
                  differs ? "differs" : "is the same");
    stats_.applied = changed;
    if (!changed || !checkpoint_.taken()) return {};
    Verdict v;
    if (auto ok = ir::verify_structure(*p_.graph); !ok)
      v.fault = ok.error().str();
    else
      v = judge_whole(pass);
    stats_.unjudged += !v.judged;
    if (!v.fault) return {};
    Event e;
    e.pass = pass.name;
    e.reason = *v.fault;
    checkpoint_.restore(p_);
    stats_.applied = 0;
    if (o_.reduce) e.reduced = reproduce_whole(p_, pass);
    return fault(std::move(e));
  }

  // Both ways where that is cheap: terms know nothing of numbers, and the interpreter follows storage by itself. What terms cannot decide is
  // interpreted, however large it is; a difference of terms in a graph that computes the same is none.
  Verdict judge_whole(const PassDef& pass) {
    const Verdict run =
        validator_.check_whole(pass.agreement, checkpoint_.graph(), *p_.graph, o_.verify == Verify::kStrict);
    if (run.fault) return run;
    const Verdict terms = prove_equal(pass.agreement, checkpoint_.graph(), *p_.graph, validator_);
    if (terms.judged) return run.judged ? run : terms;
    return run.judged ? run : validator_.check_whole(pass.agreement, checkpoint_.graph(), *p_.graph, true);
  }

  ir::Program& p_;
  const PassOptions& o_;
  PassLog& log_;
  Validator validator_;
  PassStats stats_;
  Checkpoint checkpoint_;                     // before the first rewrite of the pass
  std::vector<Region> queue_;                 // accepted, not yet judged
  Agreement promise_ = Agreement::kBitExact;  // the least of the pass's rewrites
};

}  // namespace

Result<void> run_pass(ir::Program& p, const PassDef& pass, const PassOptions& o, PassLog& log) {
  return Runner(p, o, log).run(pass);
}

Result<void> run_passes(ir::Program& p, const std::vector<std::string>& names, const PassOptions& o, PassLog& log) {
  Runner runner(p, o, log);
  for (const std::string& name : names) {
    if (o.disabled.contains(name)) continue;
    const PassDef* pass = find(name);
    if (!pass && o.further)
      for (const PassDef& d : *o.further)
        if (d.name == name) pass = &d;
    if (!pass) return fail(Code::kUsage, "there is no pass named '{}'", name);
    EW_TRY(runner.run(*pass));
  }
  // Graphs of control flow, each as a program of its own, once the passes have moved into it what they could.
  PassOptions inner = o;
  inner.after = nullptr;
  for (const auto& n : p.graph->nodes()) {
    if (!ops::control_kind(n->op())) continue;
    for (size_t i = 0; i < n->args().size(); ++i) {
      const auto* g = n->args()[i].graph();
      if (!g || !*g) continue;
      ir::Program sub;
      sub.graph = *g;
      sub.method = p.method;
      sub.ranges = p.ranges;
      sub.expression_ranges = p.expression_ranges;
      sub.path = p.path;
      if (auto r = run_passes(sub, names, inner, log); !r)
        return with_note(std::move(r.error()), "in graph " + (*g)->name);
      n->set_arg(i, ir::Arg(sub.graph));
    }
  }
  return {};
}

}  // namespace edgewright::passes
