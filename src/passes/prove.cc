#include "passes/prove.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "ops/control_flow.h"
#include "ops/view_rules.h"

namespace edgewright::passes {
namespace {

using Number = uint64_t;

constexpr int kMaxJudged = 256;  // places where the terms part
constexpr int kMaxInner = 32;    // graphs within graphs
constexpr int kMaxDepth = 2000;  // of the way down to them
constexpr size_t kContent =
    4096;  // constants up to this size are numbered by content, larger ones compared where it matters

// The terms of both graphs.
class Terms {
 public:
  struct Application {
    const Node* like = nullptr;  // a node with this op and these arguments, operands aside
    std::vector<Number> operands;
    Number first = 0;  // of its results, one after the other
    bool impure = false;
  };
  struct Term {
    int64_t application = -1;
    size_t result = 0;
    const Value* value = nullptr;  // one that it is the term of
  };

  explicit Terms(ConstantIds& ids) : ids_(ids) {}

  Number leaf(const std::string& key, const Value* v) {
    const auto [it, fresh] = leaves_.try_emplace(key, terms_.size());
    if (fresh) terms_.push_back({-1, 0, v});
    return it->second;
  }
  Number constant(const Value* v) {
    const ir::Tensor& t = *v->data;
    std::string key = "c" + ir::str(v->type);
    if (t.nbytes() <= kContent) {
      const ir::Tensor c = t.contiguous();
      key.append(reinterpret_cast<const char*>(c.data), c.nbytes());
    } else {
      for (const int64_t s : t.strides) key += fmt::format(",{}", s);
      key += fmt::format("#{}", ids_.of(t));
    }
    return leaf(key, v);
  }
  // The first result's number. `salt` tells apart what is not a function of its operands.
  Number apply(const Node& n, std::vector<Number> operands, const std::string& salt = {}) {
    std::string key = fmt::format("{}({}", reinterpret_cast<uintptr_t>(&n.op()), salt);
    size_t next = 0;
    for (const ir::Arg& a : n.args()) write(a, operands, next, key);
    const auto [it, fresh] = known_.try_emplace(key, applications_.size());
    if (fresh) {
      applications_.push_back({&n, std::move(operands), terms_.size(), !salt.empty()});
      for (size_t r = 0; r < std::max<size_t>(n.num_results(), 1); ++r)
        terms_.push_back({static_cast<int64_t>(it->second), r, n.num_results() ? n.result(r) : nullptr});
    }
    return applications_[it->second].first;
  }
  const Term& term(Number n) const { return terms_[n]; }
  const Application* application(Number n) const {
    return terms_[n].application < 0 ? nullptr : &applications_[static_cast<size_t>(terms_[n].application)];
  }

 private:
  static void write(const ir::Arg& a, const std::vector<Number>& operands, size_t& next, std::string& key) {
    key += fmt::format("|{}:", a.v.index());
    if (a.value()) {
      key += fmt::format("%{}", operands[next++]);
    } else if (const auto* l = a.list()) {
      key += fmt::format("{}[", l->size());
      for (const ir::Arg& x : *l) write(x, operands, next, key);
    } else if (a.i()) {
      key += fmt::format("{}", *a.i());
    } else if (a.f()) {
      key.append(reinterpret_cast<const char*>(a.f()), sizeof(double));
    } else if (a.b()) {
      key += *a.b() ? "1" : "0";
    } else if (a.s()) {
      key += fmt::format("{}'{}", a.s()->size(), *a.s());
    } else if (a.dtype()) {
      key += fmt::format("{}", static_cast<int>(*a.dtype()));
    } else if (a.graph()) {
      key += fmt::format("g{}", (*a.graph())->hash());
    }
  }

  ConstantIds& ids_;
  std::vector<Term> terms_;
  std::vector<Application> applications_;
  std::unordered_map<std::string, Number> leaves_;
  std::unordered_map<std::string, size_t> known_;
};

// What a graph gives back, and what else it does.
struct Ends {
  std::vector<std::optional<Number>> outputs;  // nullopt: a constant scalar or None
  std::map<std::string, Number> written;       // "state NAME", "input 3"
  std::vector<Number> effects;
};

// Follows a graph from its inputs to its ends. A value either owns its storage or shows that of another one.
class Walk {
 public:
  Walk(Terms& terms, Graph& g) : terms_(terms), g_(g) {}

  Result<Ends> run() {
    const auto& inputs = g_.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) input_[inputs[i]] = i;
    find_aliases(g_, 0);
    // Where nothing is written to, views are functions of what they show.
    if (!in_place_) std::erase_if(alias_, [](const auto& a) { return a.second.view != nullptr; });
    for (Node* n : g_.snapshot()) EW_TRY(visit(n, 0));
    Ends e;
    for (const ir::Arg& a : g_.outputs) e.outputs.push_back(a.value() ? std::optional(read(a.value())) : std::nullopt);
    for (const Value* v : written_) e.written[name_of(v)] = read(v);
    for (const ir::Write& w : g_.writes) e.written[name_of(w.target)] = read(w.value);
    e.effects = std::move(effects_);
    return e;
  }

 private:
  struct Alias {
    Value* base = nullptr;
    Node* view = nullptr;  // null: the same tensor
    size_t result = 0;
    std::optional<Number> contents;  // right while the owner's version is `version`
    int64_t version = -1;
  };

  std::string name_of(const Value* v) const {
    if (const auto it = input_.find(v); it != input_.end()) return fmt::format("input {}", it->second);
    return "state " + v->name;
  }

  // The graph that the node does nothing but run on its operands, if that is one: a region without gradients, say, or a cond whose
  // predicate is known. All its inputs and outputs are values.
  struct Inner {
    Graph* graph = nullptr;
    std::vector<Value*> operands;
  };
  static std::optional<Inner> inner_of(const Node& n, int depth) {
    const auto kind = ops::control_kind(n.op());
    if (depth >= kMaxInner || (kind != ops::ControlKind::kWrap && kind != ops::ControlKind::kCond)) return std::nullopt;
    const auto flow = ops::control_flow(n);
    if (!flow) return std::nullopt;
    Inner r;
    if (kind == ops::ControlKind::kWrap) {
      r.graph = flow->graphs[0].get();
    } else {
      const Value* v = flow->predicate.value();
      if (!flow->predicate.b() && !(v && v->is_constant() && v->data->numel() == 1)) return std::nullopt;
      const bool taken = v ? ir::load_i(v->data->dtype, v->data->data, 0) != 0 : *flow->predicate.b();
      r.graph = flow->graphs[taken ? 0 : 1].get();
    }
    for (const ir::Arg& a : flow->more) {
      if (!a.value()) return std::nullopt;
      r.operands.push_back(a.value());
    }
    if (r.operands.size() != r.graph->inputs().size() || r.graph->outputs.size() != n.num_results())
      return std::nullopt;
    for (const ir::Arg& a : r.graph->outputs)
      if (!a.value()) return std::nullopt;
    return r;
  }

  void find_aliases(Graph& g, int depth) {
    for (const auto& n : g.nodes()) {
      if (const auto inner = inner_of(*n, depth)) {
        for (size_t i = 0; i < inner->operands.size(); ++i)
          alias_[inner->graph->inputs()[i]] = {inner->operands[i], nullptr, 0, {}, -1};
        find_aliases(*inner->graph, depth + 1);
        for (size_t r = 0; r < n->num_results(); ++r)
          alias_[n->result(r)] = {inner->graph->outputs[r].value(), nullptr, r, {}, -1};
        continue;
      }
      const ops::OpDef* d = ops::def(*n);
      if (!d || n->args().empty() || !n->args()[0].value()) continue;
      Value* first = n->args()[0].value();
      if (d->functional) {
        for (size_t r = 0; r < n->num_results(); ++r) alias_[n->result(r)] = {first, nullptr, r, {}, -1};
        Value* v = owner(first);
        if (v->kind != ir::ValueKind::kResult && std::find(written_.begin(), written_.end(), v) == written_.end())
          written_.push_back(v);
        in_place_ = true;
      } else if (!d->view_of.empty() && d->view_of == d->schema.params[0].name && shares_storage(*n)) {
        for (size_t r = 0; r < n->num_results(); ++r) alias_[n->result(r)] = {first, n.get(), r, {}, -1};
      }
    }
  }

  Value* owner(Value* v) const {
    for (auto it = alias_.find(v); it != alias_.end(); it = alias_.find(v)) v = it->second.base;
    return v;
  }

  Number fresh(const Value* v) {
    const auto [it, first] = number_.try_emplace(v, 0);
    if (!first) return it->second;
    const bool stays = std::find(written_.begin(), written_.end(), v) == written_.end();
    if (v->is_constant() && stays)
      it->second = terms_.constant(v);
    else
      it->second = terms_.leaf(name_of(v), v);
    return it->second;
  }

  // What v holds now.
  Number read(const Value* v) {
    const auto it = alias_.find(const_cast<Value*>(v));
    if (it == alias_.end()) return fresh(v);
    Alias& a = it->second;
    const int64_t version = versions_[owner(a.base)];
    if (a.contents && a.version == version) return *a.contents;
    const Number base = read(a.base);
    Number now = base;
    if (a.view) {
      std::vector<Number> operands;
      for (const Value* x : a.view->inputs()) operands.push_back(operands.empty() ? base : read(x));
      now = terms_.apply(*a.view, std::move(operands)) + a.result;
    }
    a.contents = now;
    a.version = version;
    return now;
  }

  std::vector<Number> operands_of(const Node& n) {
    std::vector<Number> out;
    for (const Value* v : n.inputs()) out.push_back(read(v));
    return out;
  }

  void number(const Node& n, const std::string& salt = {}) {
    const Number first = terms_.apply(n, operands_of(n), salt);
    for (size_t r = 0; r < n.num_results(); ++r) number_[n.result(r)] = first + r;
  }

  // Numbers what was put in front of `at` after `last`.
  void number_new(Node* last, Node* at) {
    Graph& g = at->graph();
    for (Node* n = last ? g.next(last) : g.nodes().front().get(); n != at; n = g.next(n)) number(*n);
  }

  Result<void> visit(Node* n, int depth) {
    if (const auto inner = inner_of(*n, depth)) {
      for (Node* x : inner->graph->snapshot()) EW_TRY(visit(x, depth + 1));
      return {};
    }
    const ops::OpDef* d = ops::def(*n);
    if (d && d->functional) return write(n, *d->functional);
    if (n->num_results() && alias_.contains(n->result())) {
      for (size_t r = 0; r < n->num_results(); ++r) (void)read(n->result(r));
      return {};
    }
    const bool effect = !d || d->has_side_effect;
    const std::string salt = effect || d->is_nondeterministic ? fmt::format("{} ", impure_[n->name()]++) : "";
    if (effect) effects_.push_back(terms_.apply(*n, operands_of(*n), salt));
    number(*n, salt);
    return {};
  }

  Result<void> write(Node* n, const ops::OpDef& functional) {
    Value* v = n->args()[0].value();
    Graph& g = n->graph();
    Node* before = g.previous(n);
    EW_ASSIGN(Node * pure, ops::add_node(g, functional.name, n->args(), n, n->origin));
    Value* value = pure->result();
    const auto* want = v->tensor();
    if (!want) return fail(Code::kUnsupported, "{} writes to no tensor", n->name());
    ops::Builder b(g, n, n->origin);
    if (value->tensor()->dtype != want->dtype) value = b("aten._to_copy", {value, want->dtype});
    if (!value) return fail(Code::kUnsupported, "{} writes another dtype", n->name());
    number_new(before, n);
    const Number written = number_.at(value);
    Value* const target = v;
    Number now = written;
    while (true) {
      const auto it = alias_.find(v);
      if (it == alias_.end()) break;
      const Alias a = it->second;
      if (a.view) {
        const ops::OpDef* d = ops::def(*a.view);
        if (!d->scatter_back) return fail(Code::kUnsupported, "a write through {}", a.view->name());
        before = g.previous(n);
        // Stands for what the base holds now, which may be more than its own term.
        EW_ASSIGN(value, d->scatter_back(*a.view, a.result, a.base, value, b));
        if (b.failed()) EW_TRY(b.done({}));
        number_new(before, n);
        now = number_.contains(value) ? number_.at(value) : read(value);
      }
      v = a.base;
    }
    number_[v] = now;
    const int64_t version = ++versions_[v];
    if (target != v) {  // what was just written is there
      alias_[target].contents = written;
      alias_[target].version = version;
    }
    return {};
  }

  Terms& terms_;
  Graph& g_;
  bool in_place_ = false;
  std::unordered_map<const Value*, size_t> input_;
  std::unordered_map<const Value*, Alias> alias_;
  std::unordered_map<const Value*, Number> number_;  // of owners: what they hold now
  std::unordered_map<const Value*, int64_t> versions_;
  std::vector<Value*> written_;  // owners that outlive the call, in order of their first write
  std::map<std::string, int> impure_;
  std::vector<Number> effects_;
};

// Shows pairs of terms equal.
class Prover {
 public:
  Prover(const Terms& terms, Agreement promise, Validator& validator)
      : terms_(terms), promise_(promise), validator_(validator) {}

  // Nullopt: equal. Otherwise the fault nearest to the inputs, or that it could not be judged.
  std::optional<Verdict> differ(Number a, Number b, int depth = 0) {
    if (a == b) return std::nullopt;
    const auto [it, fresh] = seen_.try_emplace({a, b});
    if (!fresh) return it->second;
    if (equal_constants(a, b)) return std::nullopt;
    const auto *x = terms_.application(a), *y = terms_.application(b);
    if ((x && x->impure) || (y && y->impure)) return seen_[{a, b}] = Verdict{std::nullopt, false};
    const bool alike = depth < kMaxDepth && x && y && same_but_operands(*x, *y) &&
                       terms_.term(a).result == terms_.term(b).result &&
                       sorted(x->operands) != sorted(y->operands);  // in another order: for the op to tell
    // What reads a difference may hide it (from an overflow, say), so that nothing above one is asked.
    if (alike) {
      for (size_t i = 0; i < x->operands.size(); ++i)
        if (auto v = differ(x->operands[i], y->operands[i], depth + 1)) return seen_[{a, b}] = std::move(v);
      return std::nullopt;
    }
    return seen_[{a, b}] = judge(a, b);
  }

 private:
  static std::vector<Number> sorted(std::vector<Number> v) {
    std::sort(v.begin(), v.end());
    return v;
  }
  bool equal_constants(Number a, Number b) const {
    if (!is_constant(a) || !is_constant(b)) return false;
    const ir::Tensor x = terms_.term(a).value->data->contiguous(), y = terms_.term(b).value->data->contiguous();
    return x.dtype == y.dtype && x.sizes == y.sizes && std::memcmp(x.data, y.data, x.nbytes()) == 0;
  }

  static bool same_but_operands(const Terms::Application& x, const Terms::Application& y) {
    if (&x.like->op() != &y.like->op() || x.operands.size() != y.operands.size()) return false;
    const auto &a = x.like->args(), &b = y.like->args();
    if (a.size() != b.size()) return false;
    const std::function<bool(const ir::Arg&, const ir::Arg&)> same = [&](const ir::Arg& p, const ir::Arg& q) {
      if (p.value() || q.value()) return p.value() && q.value();
      if (p.f() && q.f()) return *p.f() == *q.f() && std::signbit(*p.f()) == std::signbit(*q.f());
      if (!p.list() || !q.list()) return !p.graph() && p == q;
      if (p.list()->size() != q.list()->size()) return false;
      for (size_t i = 0; i < p.list()->size(); ++i)
        if (!same((*p.list())[i], (*q.list())[i])) return false;
      return true;
    };
    for (size_t i = 0; i < a.size(); ++i)
      if (!same(a[i], b[i])) return false;
    return true;
  }

  std::set<Number> cone(Number of) const {
    std::set<Number> all;
    std::vector<Number> open{of};
    while (!open.empty()) {
      const Number n = open.back();
      open.pop_back();
      if (!all.insert(n).second) continue;
      if (const auto* a = terms_.application(n)) open.insert(open.end(), a->operands.begin(), a->operands.end());
    }
    return all;
  }

  std::optional<Verdict> judge(Number a, Number b) {
    if (++judged_ > kMaxJudged) return Verdict{std::nullopt, false};
    const std::set<Number> in_a = cone(a), in_b = cone(b);
    Region r;
    r.graph = std::make_shared<Graph>();
    r.promise = promise_;
    std::map<Number, Value*> made;
    // Terms are numbered after their operands.
    const auto make = [&](const std::set<Number>& other, Number root) {
      std::set<Number> needed;
      std::vector<Number> open{root};
      while (!open.empty()) {
        const Number n = open.back();
        open.pop_back();
        if (!needed.insert(n).second || (other.contains(n) && !is_constant(n))) continue;
        if (const auto* app = terms_.application(n); app && !app->impure)
          open.insert(open.end(), app->operands.begin(), app->operands.end());
      }
      for (const Number n : needed) {
        if (made.contains(n)) continue;
        const Terms::Term& t = terms_.term(n);
        const auto* app = terms_.application(n);
        if (is_constant(n)) {
          made[n] = r.graph->add_constant(t.value->name, *t.value->data);
        } else if (!app || other.contains(n) || app->impure) {
          made[n] = r.graph->add_input(t.value->name, t.value->type);
        } else {
          std::vector<ir::Arg> args = app->like->args();
          size_t next = 0;
          for (ir::Arg& x : args) x.each_value([&](Value*& v) { v = made.at(app->operands[next++]); });
          std::vector<ir::Type> types;
          for (size_t i = 0; i < app->like->num_results(); ++i) types.push_back(app->like->result(i)->type);
          Node* c = r.graph->add(app->like->op(), std::move(args), std::move(types), nullptr, app->like->origin);
          for (size_t i = 0; i < c->num_results(); ++i) made[app->first + i] = c->result(i);
          r.graph->rename(made.at(n), t.value->name);
        }
      }
      return made.at(root);
    };
    if (!terms_.term(a).value || !terms_.term(b).value) return Verdict{std::nullopt, false};
    const Value* before = make(in_b, a);
    const Value* after = make(in_a, b);
    r.results.emplace_back(before, after);
    Verdict v = validator_.judge({&r, 1})[0];
    if (!v.fault && v.judged) return std::nullopt;
    return v;
  }

  bool is_constant(Number n) const {
    const Value* v = terms_.term(n).value;
    return !terms_.application(n) && v && v->is_constant();
  }
  const Terms& terms_;
  const Agreement promise_;
  Validator& validator_;
  std::map<std::pair<Number, Number>, std::optional<Verdict>> seen_;
  int judged_ = 0;
};

}  // namespace

Verdict prove_equal(Agreement promise, const Graph& was, const Graph& is, Validator& validator) {
  const Verdict unknown{std::nullopt, false};
  const auto before_copy = was.clone(), after_copy = is.clone();  // as writes are followed, nodes are added
  Graph &before = *before_copy, &after = *after_copy;
  Terms terms(validator.ids());
  const auto a = Walk(terms, before).run(), b = Walk(terms, after).run();
  if (!a || !b || a->effects != b->effects || a->outputs.size() != b->outputs.size()) return unknown;
  Prover prover(terms, promise, validator);
  bool judged = true;
  const auto look = [&](const std::string& what, Number x, Number y) -> std::optional<Verdict> {
    const auto d = prover.differ(x, y);
    if (!d) return std::nullopt;
    if (d->fault) return Verdict{what + " differs after the pass: " + *d->fault, true};
    judged = false;
    return std::nullopt;
  };
  for (size_t i = 0; i < a->outputs.size(); ++i) {
    if (a->outputs[i].has_value() != b->outputs[i].has_value()) return unknown;
    if (!a->outputs[i]) {
      if (!(before.outputs[i] == after.outputs[i])) return {fmt::format("output {} differs after the pass", i), true};
      continue;
    }
    if (auto v = look(fmt::format("output {}", i), *a->outputs[i], *b->outputs[i])) return *v;
  }
  for (const auto& [what, n] : a->written) {
    const auto it = b->written.find(what);
    if (it == b->written.end()) return {what + " is no longer written", true};
    if (auto v = look("the new value of " + what, n, it->second)) return *v;
  }
  for (const auto& [what, n] : b->written)
    if (!a->written.contains(what)) return {what + " is written, and was not before", true};
  return {std::nullopt, judged};
}

}  // namespace edgewright::passes
