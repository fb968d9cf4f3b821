#include "ops/control_flow.h"

#include <string_view>
#include <utility>

namespace edgewright::ops {

namespace {

constexpr std::pair<std::string_view, ControlKind> kKinds[] = {
    {"cond", ControlKind::kCond},
    {"while_loop", ControlKind::kWhileLoop},
    {"map_impl", ControlKind::kMap},
    {"scan", ControlKind::kScan},
    {"associative_scan", ControlKind::kAssociativeScan},
    {"wrap_with_set_grad_enabled", ControlKind::kWrap},
    {"wrap_with_autocast", ControlKind::kWrap},
};

class Parts {
 public:
  explicit Parts(const ir::Node& n) : n_(n) {}

  Result<ControlFlow> take() {
    out_.kind = *control_kind(n_.op());
    switch (out_.kind) {
      case ControlKind::kCond:
        if (n_.args().empty()) return bad("no predicate");
        out_.predicate = n_.args()[0];
        if (!is_bool(out_.predicate)) return bad("the predicate is no bool");
        EW_TRY(graph(1));
        EW_TRY(graph(2));
        EW_TRY(more(3));
        for (const auto& g : out_.graphs) EW_TRY(fits(*g, results()));
        break;
      case ControlKind::kWhileLoop: {
        EW_TRY(graph(0));
        EW_TRY(graph(1));
        EW_TRY(list(2, out_.carried));
        EW_TRY(more(3));
        const auto& test = out_.graphs[0]->outputs;
        if (test.size() != 1 || !is_bool(test[0])) return bad("the condition gives no single bool");
        if (out_.carried.size() != n_.num_results())
          return bad("{} values are carried, {} results", out_.carried.size(), n_.num_results());
        EW_TRY(inputs_fit(*out_.graphs[0]));
        EW_TRY(fits(*out_.graphs[1], results()));
        EW_TRY(carried_fit());
        break;
      }
      case ControlKind::kMap:
        EW_TRY(graph(0));
        EW_TRY(list(1, out_.xs));
        EW_TRY(more(2));
        EW_TRY(fits(*out_.graphs[0], sliced_results(0)));
        break;
      case ControlKind::kScan:
        EW_TRY(graph(0));
        EW_TRY(list(1, out_.carried));
        EW_TRY(list(2, out_.xs));
        EW_TRY(more(3));
        EW_TRY(fits(*out_.graphs[0], sliced_results(out_.carried.size())));
        EW_TRY(carried_fit());
        break;
      case ControlKind::kAssociativeScan:
        EW_TRY(graph(0));
        EW_TRY(list(1, out_.xs));
        EW_TRY(more(2));
        if (n_.num_results() != out_.xs.size()) return bad("{} operands, {} results", out_.xs.size(), n_.num_results());
        EW_TRY(fits(*out_.graphs[0], sliced_results(0)));
        break;
      case ControlKind::kWrap: {
        size_t at = 0;
        while (at < n_.args().size() && !n_.args()[at].graph()) ++at;
        EW_TRY(graph(at));
        out_.more_arg = at + 1;
        for (size_t i = at + 1; i < n_.args().size(); ++i) {
          if (const auto* l = n_.args()[i].list())
            out_.more.insert(out_.more.end(), l->begin(), l->end());
          else
            out_.more.push_back(n_.args()[i]);
        }
        EW_TRY(fits(*out_.graphs[0], results()));
        break;
      }
    }
    return std::move(out_);
  }

 private:
  template <class... Args>
  std::unexpected<Error> bad(fmt::format_string<Args...> f, Args&&... args) const {
    return fail(Code::kMalformed, "{}: {}", n_.name(), fmt::format(f, std::forward<Args>(args)...));
  }
  static bool is_bool(const ir::Arg& a) {
    if (a.b()) return true;
    const ir::Value* v = a.value();
    if (!v) return false;
    if (const auto* s = v->scalar()) return s->kind == ir::ScalarKind::kBool;
    return v->tensor()->dtype == DType::b8;
  }
  Result<void> graph(size_t i) {
    const auto* g = i < n_.args().size() ? n_.args()[i].graph() : nullptr;
    if (!g || !*g) return bad("argument {} is no graph", i);
    out_.graphs.push_back(*g);
    out_.graph_args.push_back(i);
    return {};
  }
  Result<void> list(size_t i, ir::ArgList& into) const {
    const auto* l = i < n_.args().size() ? n_.args()[i].list() : nullptr;
    if (!l) return bad("argument {} is no list", i);
    for (const ir::Arg& a : *l)
      if (a.list() || a.graph()) return bad("argument {} holds a list or a graph", i);
    into = *l;
    return {};
  }
  // May be left out: nothing more.
  Result<void> more(size_t i) {
    out_.more_arg = i;
    return i < n_.args().size() ? list(i, out_.more) : Result<void>{};
  }
  std::vector<ir::Type> results() const {
    std::vector<ir::Type> t;
    for (size_t i = 0; i < n_.num_results(); ++i) t.push_back(n_.result(i)->type);
    return t;
  }
  // What one round gives: the results, those from number `from` on without their first dim.
  std::vector<ir::Type> sliced_results(size_t from) const {
    std::vector<ir::Type> t = results();
    for (size_t i = from; i < t.size(); ++i) {
      auto* x = std::get_if<ir::TensorType>(&t[i]);
      if (x && !x->shape.empty())
        x->shape.erase(x->shape.begin());
      else
        t[i] = ir::ScalarType{};  // which no round can give
    }
    return t;
  }
  static bool same_kind(const ir::Arg& a, const ir::Type& t) {
    const auto* want = std::get_if<ir::TensorType>(&t);
    const ir::Value* v = a.value();
    if (!want) return v ? v->scalar() != nullptr : a.i() || a.f() || a.b();
    return v && v->tensor() && v->tensor()->dtype == want->dtype && v->tensor()->rank() == want->rank();
  }
  Result<void> inputs_fit(const ir::Graph& g) const {
    ir::ArgList all = out_.carried;
    for (int side = 0; side < (out_.kind == ControlKind::kAssociativeScan ? 2 : 1); ++side)
      all.insert(all.end(), out_.xs.begin(), out_.xs.end());
    const size_t end_of_xs = all.size();
    all.insert(all.end(), out_.more.begin(), out_.more.end());
    if (g.inputs().size() != all.size())
      return bad("graph {} takes {} inputs and is given {}", g.name, g.inputs().size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      ir::Type t = g.inputs()[i]->type;
      if (i >= out_.carried.size() && i < end_of_xs) {
        auto* x = std::get_if<ir::TensorType>(&t);
        if (!x) return bad("graph {} takes no slice as its input {}", g.name, i);
        x->shape.insert(x->shape.begin(), ir::Dim(1));
      }
      if (!same_kind(all[i], t)) return bad("graph {} does not take what is given as its input {}", g.name, i);
    }
    return {};
  }
  Result<void> fits(const ir::Graph& g, const std::vector<ir::Type>& results) const {
    EW_TRY(inputs_fit(g));
    if (g.outputs.size() != results.size())
      return bad("graph {} gives {} results, not {}", g.name, g.outputs.size(), results.size());
    for (size_t i = 0; i < results.size(); ++i)
      if (!same_kind(g.outputs[i], results[i])) return bad("graph {} gives another kind of result {}", g.name, i);
    if ((out_.kind == ControlKind::kMap || out_.kind == ControlKind::kScan ||
         out_.kind == ControlKind::kAssociativeScan) &&
        out_.xs.empty())
      return bad("nothing to loop over");
    return {};
  }
  Result<void> carried_fit() const {
    if (out_.carried.size() > n_.num_results()) return bad("{} values are carried", out_.carried.size());
    for (size_t i = 0; i < out_.carried.size(); ++i)
      if (!same_kind(out_.carried[i], n_.result(i)->type)) return bad("carried value {} is of another type", i);
    return {};
  }

  const ir::Node& n_;
  ControlFlow out_;
};

}  // namespace

std::optional<ControlKind> control_kind(const ir::Op& op) {
  static constexpr std::string_view kPrefix = "higher_order.";
  if (!op.name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view name = std::string_view(op.name).substr(kPrefix.size());
  for (const auto& [n, kind] : kKinds)
    if (n == name) return kind;
  return std::nullopt;
}

Result<ControlFlow> control_flow(const ir::Node& n) { return Parts(n).take(); }

}  // namespace edgewright::ops
