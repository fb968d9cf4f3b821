#include "ir/verify.h"

#include <algorithm>
#include <unordered_map>

namespace edgewright::ir {

bool may_equal(const Dim& a, const Dim& b) {
  if (a == b) return true;
  const Dim difference = a - b;
  return difference.maybe().value_or(0) == 0;
}

bool may_equal(const Type& a, const Type& b) {
  if (const auto* x = std::get_if<TensorType>(&a)) {
    const auto* y = std::get_if<TensorType>(&b);
    return y && x->dtype == y->dtype && x->rank() == y->rank() &&
           std::equal(x->shape.begin(), x->shape.end(), y->shape.begin(),
                      [](const Dim& p, const Dim& q) { return may_equal(p, q); });
  }
  const auto& x = std::get<ScalarType>(a);
  const auto* y = std::get_if<ScalarType>(&b);
  return y && x.kind == y->kind && (!x.expr || !y->expr || may_equal(*x.expr, *y->expr));
}

namespace {
constexpr int kMaxDepth = 64;  // of subgraphs and lists

class Verifier {
 public:
  Verifier(const Graph& g, Code blame, int depth) : g_(g), blame_(blame), depth_(depth) {}

  Result<void> run() {
    if (depth_ > kMaxDepth) return fail(blame_, "subgraphs are nested deeper than {}", kMaxDepth);
    for (const Value* v : g_.inputs()) {
      if (!v || v->kind != ValueKind::kInput || v->producer || v->data)
        return fail(blame_, "%{} stands among the inputs but is none", v ? v->name : "?");
      EW_TRY(add(*v));
    }
    for (const Value* v : g_.constants()) EW_TRY(with_data(*v));
    for (const Value* v : g_.states()) EW_TRY(with_data(*v));
    for (const auto& n : g_.nodes()) {
      node_ = n.get();
      EW_TRY(node(*n));
    }
    node_ = nullptr;
    for (const Arg& a : g_.outputs) {
      if (a.list() || a.graph()) return bad("an output is a list or a graph");
      if (const auto* v = std::get_if<Value*>(&a.v)) EW_TRY(defined(*v));
    }
    std::unordered_map<const Value*, int> written;
    for (const Write& w : g_.writes) {
      EW_TRY(defined(w.target));
      EW_TRY(defined(w.value));
      if (w.target->kind != ValueKind::kState && w.target->kind != ValueKind::kInput)
        return bad("%{} is written but is neither state nor input", w.target->name);
      if (!may_equal(w.target->type, w.value->type))
        return bad("%{} of {} is written to %{} of {}", w.value->name, str(w.value->type), w.target->name,
                   str(w.target->type));
      if (++written[w.target] > 1) return bad("%{} is written twice", w.target->name);
    }
    return users();
  }

 private:
  template <class... Args>
  std::unexpected<Error> bad(fmt::format_string<Args...> f, Args&&... args) const {
    auto e = fail(blame_, "{}", fmt::format(f, std::forward<Args>(args)...));
    if (node_) {
      e.error().node = node_->num_results() ? node_->result()->name : node_->name();
      if (node_->origin) e.error().origin = node_->origin->module_path;
    }
    return e;
  }

  Result<void> add(const Value& v) {
    if (v.name.empty() || !std::all_of(v.name.begin(), v.name.end(),
                                       [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; }))
      return bad("'{}' cannot be a value's name", v.name);
    if (!names_.insert(v.name).second) return bad("two values are named %{}", v.name);
    if (const auto* t = v.tensor())
      for (const Dim& d : t->shape)
        if (d.maybe().value_or(0) < 0) return bad("%{} has a negative size: {}", v.name, str(v.type));
    uses_.emplace(&v, std::vector<const Node*>());
    return {};
  }

  Result<void> with_data(const Value& v) {
    EW_TRY(add(v));
    const auto* t = v.tensor();
    if (!t || !v.data || v.producer)
      return bad("%{} is {} without data", v.name, v.kind == ValueKind::kState ? "a state" : "a constant");
    if (!is_static(t->shape) || t->dtype != v.data->dtype || static_sizes(t->shape) != v.data->sizes)
      return bad("%{} is {}, but its data is {}", v.name, str(v.type),
                 str(Type(TensorType{v.data->dtype, Shape(v.data->sizes.begin(), v.data->sizes.end())})));
    return {};
  }

  Result<void> defined(const Value* v) const {
    if (!v) return bad("a null value is used");
    if (uses_.contains(v)) return {};
    return bad("a value is used that is not defined before, or belongs to another graph");  // its name may be gone
  }

  Result<void> arg(const Arg& a, int depth) {
    if (depth > kMaxDepth) return bad("lists are nested deeper than {}", kMaxDepth);
    if (const auto* v = std::get_if<Value*>(&a.v)) {
      EW_TRY(defined(*v));
      uses_[*v].push_back(node_);
    } else if (const ArgList* l = a.list()) {
      for (const Arg& x : *l) EW_TRY(arg(x, depth + 1));
    } else if (const auto* g = a.graph()) {
      if (!*g) return bad("a null graph is an argument");
      if (auto r = Verifier(**g, blame_, depth_ + 1).run(); !r)
        return with_note(std::move(r.error()), "subgraph " + (*g)->name);
    }
    return {};
  }

  Result<void> node(const Node& n) {
    if (&n.graph() != &g_) return bad("the node belongs to another graph");
    const Schema& s = n.op().schema;
    if (n.args().size() > s.params.size())
      return bad("{} takes {} arguments, not {}", n.name(), s.params.size(), n.args().size());
    for (size_t i = n.args().size(); i < s.params.size(); ++i)
      if (!s.params[i].has_default && !s.params[i].is_optional)
        return bad("{}: argument '{}' is missing", n.name(), s.params[i].name);
    for (const Arg& a : n.args()) EW_TRY(arg(a, 0));
    if (s.num_results != Schema::kVariadic && !n.op().is_unknown && n.num_results() != s.num_results)
      return bad("{} has {} results, not {}", n.name(), s.num_results, n.num_results());
    for (size_t i = 0; i < n.num_results(); ++i) {
      const Value* r = n.result(i);
      if (r->kind != ValueKind::kResult || r->producer != &n || r->result_index != i)
        return bad("%{} does not know that it is a result of its node", r->name);
      EW_TRY(add(*r));
    }
    return {};
  }

  Result<void> users() const {
    for (const auto& [v, found] : uses_) {
      std::vector<const Node*> listed(v->users.begin(), v->users.end()), used = found;
      std::sort(listed.begin(), listed.end());
      std::sort(used.begin(), used.end());
      if (listed != used)
        return bad("%{} is used {} times, but {} users are listed", v->name, used.size(), listed.size());
    }
    return {};
  }

  const Graph& g_;
  const Code blame_;
  const int depth_;
  const Node* node_ = nullptr;
  std::unordered_set<std::string_view> names_;
  std::unordered_map<const Value*, std::vector<const Node*>> uses_;  // every value defined so far
};
}  // namespace

Result<void> verify_structure(const Graph& g, Code blame) { return Verifier(g, blame, 0).run(); }

}  // namespace edgewright::ir
