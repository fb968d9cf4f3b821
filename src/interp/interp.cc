#include "interp/interp.h"

#include <algorithm>
#include <new>
#include <unordered_map>
#include <unordered_set>

#include "interp/apply.h"
#include "interp/control_flow.h"
#include "interp/symbols.h"
#include "ops/control_flow.h"
#include "ops/verify.h"
#include "ops/view_rules.h"

namespace edgewright::interp {

namespace {

class Machine {
 public:
  // `shares_inputs`: what the graph writes to its inputs in place is the caller's to see.
  Machine(const ir::Graph& g, const Options& o, int depth, bool shares_inputs = false)
      : g_(g), o_(o), depth_(depth), shares_inputs_(shares_inputs) {}

  Result<RunResult> run(std::span<const Datum> inputs) {
    const auto& declared = g_.inputs();
    if (inputs.size() != declared.size())
      return fail(Code::kUsage, "{} inputs given, the graph has {}", inputs.size(), declared.size());
    for (size_t i = 0; i < inputs.size(); ++i)
      EW_TRY(symbols_.bind(declared[i]->type, inputs[i], "input " + declared[i]->name, Code::kUsage));
    EW_TRY(symbols_.settle(Code::kUsage));
    if (o_.ranges) EW_TRY(symbols_.check(*o_.ranges, o_.expression_ranges));
    find_overwritten();
    for (size_t i = 0; i < inputs.size(); ++i) place(declared[i], inputs[i]);
    for (const ir::Value* v : g_.constants()) place(v, persistent(v));
    for (const ir::Value* v : g_.states()) place(v, persistent(v));
    for (const ir::Arg& a : g_.outputs) a.each_value([&](const ir::Value* v) { kept_.insert(v); });
    for (const ir::Write& w : g_.writes) kept_.insert(w.value);

    for (const auto& n : g_.nodes()) {
      auto results = node(*n);
      if (!results) return std::unexpected(ops::about(*n, std::move(results.error())));
      if (o_.observe) o_.observe(*n, *results);
      for (size_t r = 0; r < results->size(); ++r) {
        const ir::Value* v = n->result(r);
        if (auto ok = bind_result(*v, (*results)[r]); !ok)
          return std::unexpected(ops::about(*n, std::move(ok.error())));
        if (!v->users.empty() || kept_.contains(v)) values_[v] = std::move((*results)[r]);
      }
      for (const ir::Value* v : n->inputs()) release(v);
    }
    return finish();
  }

 private:
  // The value whose storage `v` shows, through views and in-place ops.
  static const ir::Value* owner(const ir::Value* v) {
    for (;;) {
      const ir::Node* n = v->producer;
      const ops::OpDef* d = n ? ops::def(*n) : nullptr;
      if (!d || n->args().empty()) return v;
      const ir::Value* base = d->functional        ? n->args()[0].value()
                              : d->view_of.empty() ? nullptr
                                                   : n->arg(d->view_of).value();
      if (!base) return v;
      v = base;
    }
  }

  void find_overwritten() { overwritten_ = written_in(g_, 0); }

  // The owners of storage that in-place ops of a graph write, also from inside graphs that are merely wrapped.
  static std::unordered_set<const ir::Value*> written_in(const ir::Graph& g, int depth) {
    std::unordered_set<const ir::Value*> out;
    for (const auto& n : g.nodes()) {
      const ops::OpDef* d = ops::def(*n);
      if (d && d->functional && !n->args().empty() && n->args()[0].value()) out.insert(owner(n->args()[0].value()));
      if (ops::control_kind(n->op()) != ops::ControlKind::kWrap || depth >= kMaxDepth) continue;
      const auto flow = ops::control_flow(*n);
      if (!flow) continue;  // running it will say so
      const auto& in = flow->graphs[0]->inputs();
      const auto inner = written_in(*flow->graphs[0], depth + 1);
      for (size_t i = 0; i < in.size(); ++i)
        if (inner.contains(in[i]) && flow->more[i].value()) out.insert(owner(flow->more[i].value()));
    }
    return out;
  }

  void place(const ir::Value* v, const Datum& d) {
    const auto* t = tensor(d);
    values_[v] = t && overwritten_.contains(v) && !shares_inputs_ ? Datum(private_copy(*t)) : d;
    const auto* s = number(d);
    const auto* declared = v->scalar();  // an int where a float is declared
    if (s && declared && declared->kind == ir::ScalarKind::kFloat) values_[v] = float_datum(s->f);
  }

  Datum persistent(const ir::Value* v) const {
    if (o_.state)
      if (const auto it = o_.state->values.find(v->name); it != o_.state->values.end()) return it->second;
    return *v->data;
  }

  Result<void> bind_result(const ir::Value& v, const Datum& d) {
    EW_TRY(symbols_.bind(v.type, d, "%" + v.name, Code::kMalformed));
    return symbols_.settle(Code::kMalformed);
  }

  // Drops a value after its last use.
  void release(const ir::Value* v) {
    if (kept_.contains(v) || overwritten_.contains(v)) return;
    const auto [it, fresh] = uses_.try_emplace(v, v->users.size());
    if (--it->second == 0) values_.erase(v);
  }

  const Datum* get(const ir::Value* v) const {
    const auto it = values_.find(v);
    return it == values_.end() ? nullptr : &it->second;
  }

  Result<std::vector<Datum>> node(const ir::Node& n) {
    const Operands of = [this](const ir::Value* v) { return get(v); };
    if (is_control_flow(n.op())) {
      Options inner;
      inner.max_rounds = o_.max_rounds;
      const bool wrap = ops::control_kind(n.op()) == ops::ControlKind::kWrap;
      const auto body = [&](const ir::Graph& g, std::span<const Datum> in) -> Result<std::vector<Datum>> {
        if (depth_ >= kMaxDepth) return fail(Code::kMalformed, "subgraphs are nested deeper than {}", kMaxDepth);
        EW_ASSIGN(RunResult r, Machine(g, inner, depth_ + 1, wrap).run(in));
        return std::move(r.outputs);
      };
      return run_control_flow(n, of, body, o_.max_rounds);
    }
    const ops::OpDef* d = ops::def(n);
    if (!d) return fail(Code::kUnsupported, "{} is not known", n.name());
    if (d->functional) return in_place(n, *d, of);
    if (copies_here(n, of)) {  // a reshape that PyTorch answers with a copy
      EW_ASSIGN(std::vector<Datum> r, apply(*d, n.args(), of));
      r[0] = private_copy(tensor(r[0])->contiguous());
      return r;
    }
    EW_ASSIGN(auto r, apply(*d, n.args(), of));
    if (r.size() != n.num_results())
      return fail(Code::kMalformed, "{} gives {} results, the graph has {}", n.name(), r.size(), n.num_results());
    // A copy that apply() left undone (split_copy): of consequence only where something is overwritten.
    if (!overwritten_.empty() && d->view_of.empty())
      for (Datum& x : r)
        if (const auto* t = tensor(x); t && shares(n, of, *t)) x = private_copy(*t);
    return r;
  }
  static bool shares(const ir::Node& n, const Operands& of, const ir::Tensor& t) {
    const auto in = n.inputs();
    return std::any_of(in.begin(), in.end(), [&](const ir::Value* v) {
      const auto* x = tensor(*of(v));
      return x && x->owner && x->owner == t.owner;
    });
  }

  Result<std::vector<Datum>> in_place(const ir::Node& n, const ops::OpDef& d, const Operands& of) {
    const ir::Value* target = n.args().empty() ? nullptr : n.args()[0].value();
    const ir::Tensor* to = target ? tensor(*of(target)) : nullptr;
    if (!to || n.num_results() > 1) return fail(Code::kUnsupported, "{} does not write to a single tensor", n.name());
    EW_ASSIGN(const std::vector<Datum> r, apply(*d.functional, n.args(), of));
    const ir::Tensor* value = r.empty() ? nullptr : tensor(r[0]);
    if (!value || value->sizes != to->sizes)
      return fail(Code::kUnsupported, "{} would change the shape of what it writes to", n.name());
    if (value->dtype != to->dtype && (!ops::is_number(value->dtype) || !ops::is_number(to->dtype)))
      return fail(Code::kUnsupported, "{} would write {} to {}", n.name(), name(value->dtype), name(to->dtype));
    copy_elements(value->owner == to->owner ? private_copy(*value) : *value, *to);
    return std::vector<Datum>(n.num_results(), *to);
  }

  // Ops that alias only sometimes copy where the strides that the exporter saw cannot show the result; known for its sizes only.
  bool copies_here(const ir::Node& n, const Operands& of) const {
    if (overwritten_.empty()) return false;
    const bool contiguous = n.is("aten.contiguous");
    if (!contiguous && !ops::views_or_copies(n)) return false;
    const ir::Value* self = n.args().empty() ? nullptr : n.args()[0].value();
    const ir::Tensor* t = self ? tensor(*of(self)) : nullptr;
    const auto* declared = self ? self->tensor() : nullptr;
    const auto* result = n.result()->tensor();
    if (!t || !declared || !result || !ir::is_static(declared->shape) || !ir::is_static(result->shape) ||
        self->strides.size() != t->sizes.size())
      return false;
    if (contiguous) return self->strides != ir::contiguous_strides(t->sizes);
    return !ops::reshape_is_view(t->sizes, self->strides, ir::static_sizes(result->shape));
  }

  Result<RunResult> finish() {
    RunResult r;
    for (const ir::Arg& a : g_.outputs) {
      const Datum* d = a.value() ? get(a.value()) : nullptr;
      if (a.value() && !d) return fail(Code::kInternal, "output %{} has no value", a.value()->name);
      r.outputs.push_back(d ? *d : from_arg(a));
    }
    std::map<std::string, ir::Tensor, std::less<>> stored;
    const auto overwritten = [&](const ir::Value* v, const ir::Tensor& t) {
      if (v->kind == ir::ValueKind::kInput) {
        const auto& in = g_.inputs();
        r.inputs[static_cast<size_t>(std::find(in.begin(), in.end(), v) - in.begin())] = t;
      } else {
        stored[v->name] = t;
      }
    };
    for (const ir::Value* v : overwritten_)
      if (v->kind != ir::ValueKind::kResult) overwritten(v, std::get<ir::Tensor>(values_.at(v)));
    for (const ir::Write& w : g_.writes) {
      const Datum* d = get(w.value);
      if (!d || !tensor(*d)) return fail(Code::kInternal, "%{} has no tensor to write", w.value->name);
      overwritten(w.target, private_copy(tensor(*d)->contiguous()));
    }
    if (o_.state)
      for (auto& [name, t] : stored) o_.state->values.insert_or_assign(name, std::move(t));
    r.symbols = symbols_.values();
    return r;
  }

  static constexpr int kMaxDepth = 32;
  const ir::Graph& g_;
  const Options& o_;
  const int depth_;
  const bool shares_inputs_;
  Symbols symbols_;
  std::unordered_map<const ir::Value*, Datum> values_;
  std::unordered_map<const ir::Value*, size_t> uses_;        // left
  std::unordered_set<const ir::Value*> kept_, overwritten_;  // outputs; owners of storage that in-place ops write
};

// A tensor laid out with these strides, where they fit its sizes without overlap being read twice.
ir::Tensor laid_out(const ir::Tensor& t, const std::vector<int64_t>& strides) {
  if (strides.size() != t.sizes.size() || t.strides == strides || t.numel() == 0) return t;
  int64_t last = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    if (strides[d] < 0 || (strides[d] == 0 && t.sizes[d] > 1)) return t;  // expanded: elements are not independent
    last += (t.sizes[d] - 1) * strides[d];
  }
  if (last >= 4 * t.numel()) return t;  // the example's strides, for other sizes
  ir::Tensor storage = ir::Tensor::empty(t.dtype, {last + 1});
  storage.sizes = t.sizes;
  storage.strides = strides;
  copy_elements(t, storage);
  return storage;
}

// Only memory can be short here; everything else is a Result.
template <class F>
auto guarded(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return fail(Code::kUnsupported, "out of memory");
  }
}
}  // namespace

Result<RunResult> run(const ir::Graph& g, std::span<const Datum> inputs, const Options& o) {
  return guarded([&] { return Machine(g, o, 0).run(inputs); });
}

Result<RunResult> run(const ir::Program& p, std::span<const Datum> leaves, Options o) {
  if (leaves.size() != p.inputs.size())
    return fail(Code::kUsage, "{} inputs given, the program has {}", leaves.size(), p.inputs.size());
  const auto& declared = p.graph->inputs();
  std::vector<Datum> inputs(declared.size());
  std::map<size_t, size_t> leaf_of;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const ir::InputLeaf& leaf = p.inputs[i];
    if (!leaf.value) {
      if (leaves[i].index() == 0) continue;
      const Datum fixed = from_arg(leaf.fixed);
      const auto *a = number(leaves[i]), *b = number(fixed);
      const auto *s = std::get_if<std::string>(&leaves[i]), *t = std::get_if<std::string>(&fixed);
      if ((a && b && a->f == b->f && a->i == b->i) || (s && t && *s == *t)) continue;
      return fail(Code::kUsage, "input {} ({}) is {}, but the export fixed it to {}", i, leaf.name, describe(leaves[i]),
                  describe(fixed));
    }
    const size_t k = static_cast<size_t>(std::find(declared.begin(), declared.end(), leaf.value) - declared.begin());
    if (k == declared.size()) return fail(Code::kInternal, "leaf {} is no input of the graph", leaf.name);
    if (leaves[i].index() == 0)
      return fail(Code::kUsage, "input {} ({}) is missing: {}", i, leaf.name, ir::str(leaf.value->type));
    const auto* t = tensor(leaves[i]);
    inputs[k] = t ? Datum(laid_out(*t, leaf.strides)) : leaves[i];
    leaf_of[k] = i;
  }
  o.ranges = &p.ranges;
  o.expression_ranges = p.expression_ranges;
  EW_ASSIGN(RunResult r, run(*p.graph, inputs, o));
  std::map<size_t, ir::Tensor> changed;
  for (auto& [k, t] : r.inputs)
    if (const auto it = leaf_of.find(k); it != leaf_of.end()) changed[it->second] = std::move(t);
  r.inputs = std::move(changed);
  return r;
}

Result<std::vector<ir::Tensor>> evaluate(const ir::Node& n) {
  const ops::OpDef* d = ops::def(n);
  if (!d || d->functional)
    return std::unexpected(ops::about(n, fail(Code::kUnsupported, "{} has no meaning by itself", n.name()).error()));
  std::unordered_map<const ir::Value*, Datum> operands;
  for (const ir::Value* v : n.inputs()) {
    if (!v->data) return std::unexpected(ops::about(n, fail(Code::kInternal, "%{} is no constant", v->name).error()));
    operands[v] = *v->data;
  }
  auto r = guarded([&] { return apply(*d, n.args(), [&](const ir::Value* v) { return &operands.at(v); }); });
  if (!r) return std::unexpected(ops::about(n, std::move(r.error())));
  std::vector<ir::Tensor> out;
  for (Datum& x : *r) {
    const auto* t = tensor(x);
    if (!t) return std::unexpected(ops::about(n, fail(Code::kUnsupported, "{} gives a number", n.name()).error()));
    const bool is_shared = std::any_of(operands.begin(), operands.end(),
                                       [&](const auto& e) { return tensor(e.second)->owner == t->owner; });
    out.push_back(is_shared ? private_copy(t->contiguous()) : t->contiguous());
  }
  return out;
}

}  // namespace edgewright::interp
