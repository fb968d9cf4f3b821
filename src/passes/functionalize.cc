// src/passes/functionalize.cc - functionalize: in-place ops, writes through views and mutated buffers -> pure dataflow plus
// explicit writes at the graph's end.
//
// Every tensor value either owns its storage (an input, a constant, a fresh result) or is a view of another value. `latest` holds
// what an owner's storage contains now; a view's contents are derived from its owner again when that has changed since. A write
// to a view is carried back to the owner by the inverse of each view on the way. That is PyTorch's aliasing, exactly, as long
// as it is known which results alias: for ops that alias only sometimes (reshape, contiguous, to) the exporter's strides decide.
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

class Functionalizer {
 public:
  explicit Functionalizer(ir::Program& p) : p_(p), g_(*p.graph) {}

  Result<bool> run() {
    bool needed = false;
    for (const auto& n : g_.nodes()) {
      const ops::OpDef* d = ops::def(*n);
      needed |= d && d->functional;
    }
    if (!needed) return false;
    for (Node* n : g_.snapshot()) {
      auto r = visit(n);
      if (!r) {
        Error e = std::move(r.error());
        if (e.node.empty()) e.node = n->num_results() ? n->result()->name : n->name();
        if (e.origin.empty() && n->origin) e.origin = n->origin->module_path + " " + n->origin->stack_trace;
        return std::unexpected(std::move(e));
      }
    }
    return finish();
  }

 private:
  struct Alias {
    Value* base = nullptr;  // the value whose storage this one shows; null for an owner
    Node* view = nullptr;   // how; null: the same tensor (result of an in-place op)
    size_t result = 0;
    Value* contents = nullptr;
    int64_t version = 0;  // of the owner, when `contents` was right
  };

  Value* owner(Value* v) {
    for (auto it = alias_.find(v); it != alias_.end() && it->second.base; it = alias_.find(v)) v = it->second.base;
    return v;
  }

  // What `v` holds now, deriving it in front of `at` if its owner has changed.
  Result<Value*> contents(Value* v, Node* at) {
    auto it = alias_.find(v);
    if (it == alias_.end()) return v;
    if (!it->second.base) return it->second.contents;
    const int64_t version = versions_[owner(v)];
    if (it->second.version == version) return it->second.contents;
    EW_ASSIGN(Value * base, contents(it->second.base, at));
    Alias& a = alias_[v];
    if (!a.view) {
      a.contents = base;
    } else {
      std::vector<ir::Arg> args = a.view->args();
      args[0] = ir::Arg(base);
      EW_ASSIGN(Node * again, ops::add_node(g_, a.view->name(), std::move(args), at, a.view->origin));
      a.contents = again->result(a.result);
      a.contents->strides = v->strides;
    }
    a.version = version;
    return a.contents;
  }

  Result<void> write(Value* v, Value* value, Node* at) {
    Value* const target = v;
    Value* const written = value;
    while (true) {
      auto it = alias_.find(v);
      if (it == alias_.end() || !it->second.base) break;
      const Alias a = it->second;
      if (a.view) {
        const ops::OpDef* d = ops::def(*a.view);
        if (!d->scatter_back)
          return fail(Code::kUnsupported, "a write through a view made by {} ({})", a.view->name(), v->name);
        EW_ASSIGN(Value * base, contents(a.base, at));
        ops::Builder b(g_, at, at->origin);
        EW_ASSIGN(value, d->scatter_back(*a.view, a.result, base, value, b));
        if (b.failed()) EW_TRY(b.done({}));
      }
      v = a.base;
    }
    alias_[v].contents = value;
    ++versions_[v];
    changed_owners_.push_back(v);
    if (target != v) {
      alias_[target].contents = written;
      alias_[target].version = versions_[v];
    }
    return {};
  }

  Result<void> visit(Node* n) {
    const ops::OpDef* d = ops::def(*n);
    Value* mutated = nullptr;
    if (d && d->functional) {
      mutated = n->args().empty() ? nullptr : n->args()[0].value();
      if (!mutated || !mutated->tensor())
        return fail(Code::kUnsupported, "{} does not write to a single tensor", n->name());
    }
    Value* const viewed =
        d && !d->view_of.empty() && d->view_of == d->schema.params[0].name ? n->args()[0].value() : nullptr;
    for (size_t i = 0; i < n->args().size(); ++i) {
      ir::Arg a = n->args()[i];
      bool differs = false;
      std::optional<Error> error;
      a.each_value([&](Value*& v) {
        auto now = contents(v, n);
        if (!now) {
          error = std::move(now.error());
        } else if (*now != v) {
          v = *now;
          differs = true;
        }
      });
      if (error) return std::unexpected(std::move(*error));
      if (differs) n->set_arg(i, std::move(a));
    }
    if (viewed && shares_storage(*n)) {
      for (size_t r = 0; r < n->num_results(); ++r)
        alias_[n->result(r)] = {viewed, n, r, n->result(r), versions_[owner(viewed)]};
      return {};
    }
    if (!mutated) return {};
    EW_ASSIGN(Node * pure, ops::add_node(g_, d->functional->name, n->args(), n, n->origin));
    Value* value = pure->result();
    const ir::TensorType& want = *mutated->tensor();
    ops::Builder b(g_, n, n->origin);
    if (value->tensor()->dtype != want.dtype) value = b("aten._to_copy", {value, want.dtype});
    if (value && value->tensor()->rank() != want.rank())
      return fail(Code::kUnsupported, "{} would change the shape of what it writes to", n->name());
    EW_TRY(b.done({}));
    EW_TRY(write(mutated, value, n));
    g_.replace_all_uses(n->result(), mutated);  // the result is the tensor itself
    g_.erase(n);
    return {};
  }

  Result<bool> finish() {
    // Uses by outputs see the final contents.
    Node* const end = nullptr;
    std::optional<Error> error;
    const auto final_value = [&](Value*& v) {
      auto now = contents(v, end);
      if (!now)
        error = std::move(now.error());
      else
        v = *now;
    };
    for (ir::Arg& a : g_.outputs) a.each_value(final_value);
    for (ir::Write& w : g_.writes) final_value(w.value);
    if (error) return std::unexpected(std::move(*error));
    // Owners that outlive the call.
    std::unordered_set<Value*> done;
    for (Value* v : changed_owners_) {
      if (v->kind == ir::ValueKind::kResult || !done.insert(v).second) continue;
      EW_ASSIGN(Value * value, contents(v, end));
      Value* target = v;
      if (v->is_constant()) {
        for (const Value* other : g_.constants())
          if (other != v && overlap(*other->data, *v->data))
            return fail(Code::kUnsupported, "buffer {} is written and shares its storage with {}", v->name,
                        other->name);
        const std::string name = v->name;
        v->name = g_.fresh_name(name + ".initial");
        target = g_.add_state(name, *v->data);
        target->name = name;
        g_.replace_all_uses(v, target);
        if (value == v) value = target;
      }
      std::erase_if(g_.writes, [&](const ir::Write& w) { return w.target == target; });
      g_.writes.push_back({target, value});
    }
    g_.remove_unused_constants();
    return true;
  }

  static bool overlap(const ir::Tensor& a, const ir::Tensor& b) {
    const auto end = [](const ir::Tensor& t) {
      int64_t last = 0;
      for (size_t i = 0; i < t.sizes.size(); ++i) last += (t.sizes[i] - 1) * t.strides[i];
      return t.numel() == 0 ? t.data : t.data + (last + 1) * static_cast<int64_t>(size_of(t.dtype));
    };
    return a.data < end(b) && b.data < end(a);
  }

  ir::Program& p_;
  Graph& g_;
  std::unordered_map<Value*, Alias> alias_;
  std::unordered_map<Value*, int64_t> versions_;  // per owner
  std::vector<Value*> changed_owners_;
};

}  // namespace
PassDef define_functionalize() {
  return {.name = "functionalize",
          .run = [](ir::Program& p) { return Functionalizer(p).run(); },
          .agreement = Agreement::kBitExact,
          .summary = "in-place ops and writes through views -> functional ops, and writes at the graph's end"};
}
}  // namespace edgewright::passes
