#include "interp/control_flow.h"

#include <cstring>

#include "ops/control_flow.h"

namespace edgewright::interp {

namespace {
using Body = std::function<Result<std::vector<Datum>>(const ir::Graph&, std::span<const Datum>)>;

class Runner {
 public:
  Runner(const ir::Node& n, const Operands& of, const Body& body, int64_t max_rounds)
      : n_(n), of_(of), body_(body), max_rounds_(max_rounds) {}

  // cond(pred, true graph, false graph, operands)
  Result<std::vector<Datum>> cond() {
    EW_ASSIGN(const Datum pred, one(0));
    EW_ASSIGN(const bool yes, truth(pred));
    EW_ASSIGN(const ir::Graph* g, graph(yes ? 1 : 2));
    EW_ASSIGN(const auto in, list(3));
    return body_(*g, in);
  }

  // while_loop(cond graph, body graph, carried, additional): both graphs take carried + additional.
  Result<std::vector<Datum>> while_loop() {
    EW_ASSIGN(const ir::Graph* test, graph(0));
    EW_ASSIGN(const ir::Graph* step, graph(1));
    EW_ASSIGN(std::vector<Datum> carried, list(2));
    EW_ASSIGN(const auto more, list(3));
    for (int64_t round = 0;; ++round) {
      std::vector<Datum> in = carried;
      in.insert(in.end(), more.begin(), more.end());
      EW_ASSIGN(const auto go, body_(*test, in));
      if (go.size() != 1) return bad("the condition gives no single result");
      EW_ASSIGN(const bool yes, truth(go[0]));
      if (!yes) return carried;
      if (round == max_rounds_) return fail(Code::kUnsupported, "the loop does not end within {} rounds", max_rounds_);
      EW_ASSIGN(auto next, body_(*step, in));
      if (next.size() != carried.size()) return bad("the body carries on another number of values");
      carried = std::move(next);
    }
  }

  // map_impl(graph, xs, additional): over dim 0 of every x; results are stacked.
  Result<std::vector<Datum>> map() {
    EW_ASSIGN(const ir::Graph* g, graph(0));
    EW_ASSIGN(const auto xs, list(1));
    EW_ASSIGN(const auto more, list(2));
    EW_ASSIGN(const int64_t rounds, length(xs));
    std::vector<ir::Tensor> stacked;
    for (int64_t i = 0; i < rounds; ++i) {
      std::vector<Datum> in;
      for (const Datum& x : xs) in.push_back(slice(*tensor(x), i));
      in.insert(in.end(), more.begin(), more.end());
      EW_ASSIGN(const auto out, body_(*g, in));
      EW_TRY(stack(stacked, out, i, rounds));
    }
    return finish({}, stacked, rounds);
  }

  // scan(graph, init, xs, additional): graph(carried, slices, additional) -> carried, y; the carried values and stacked y.
  Result<std::vector<Datum>> scan() {
    EW_ASSIGN(const ir::Graph* g, graph(0));
    EW_ASSIGN(std::vector<Datum> carried, list(1));
    EW_ASSIGN(const auto xs, list(2));
    std::vector<Datum> more;
    if (n_.args().size() > 3) {
      EW_ASSIGN(more, list(3));
    }
    EW_ASSIGN(const int64_t rounds, length(xs));
    std::vector<ir::Tensor> stacked;
    for (int64_t i = 0; i < rounds; ++i) {
      std::vector<Datum> in = carried;
      for (const Datum& x : xs) in.push_back(slice(*tensor(x), i));
      in.insert(in.end(), more.begin(), more.end());
      EW_ASSIGN(const auto out, body_(*g, in));
      if (out.size() < carried.size()) return bad("the graph gives fewer values than are carried");
      std::copy_n(out.begin(), carried.size(), carried.begin());
      EW_TRY(stack(stacked, std::span(out).subspan(carried.size()), i, rounds));
    }
    return finish(std::move(carried), stacked, rounds);
  }

  // associative_scan(graph, xs, additional): row 0, then graph(what was given last, row i, additional).
  Result<std::vector<Datum>> associative_scan() {
    EW_ASSIGN(const ir::Graph* g, graph(0));
    EW_ASSIGN(const auto xs, list(1));
    std::vector<Datum> more;
    if (n_.args().size() > 2) {
      EW_ASSIGN(more, list(2));
    }
    EW_ASSIGN(const int64_t rounds, length(xs));
    std::vector<ir::Tensor> stacked;
    std::vector<Datum> last;
    for (int64_t i = 0; i < rounds; ++i) {
      std::vector<Datum> row;
      for (const Datum& x : xs) row.push_back(slice(*tensor(x), i));
      if (i > 0) {
        std::vector<Datum> in = std::move(last);
        in.insert(in.end(), row.begin(), row.end());
        in.insert(in.end(), more.begin(), more.end());
        EW_ASSIGN(row, body_(*g, in));
      }
      EW_TRY(stack(stacked, row, i, rounds));
      last = std::move(row);
    }
    return finish({}, stacked, rounds);
  }

  // wrap_with_set_grad_enabled(enabled, graph, inputs...), wrap_with_autocast(device, dtype, enabled, cache, graph, inputs...)
  Result<std::vector<Datum>> wrapped() {
    size_t at = 0;
    while (at < n_.args().size() && !n_.args()[at].graph()) ++at;
    EW_ASSIGN(const ir::Graph* g, graph(at));
    std::vector<Datum> in;
    for (size_t i = at + 1; i < n_.args().size(); ++i) {
      EW_ASSIGN(auto some, list(i));
      in.insert(in.end(), some.begin(), some.end());
    }
    return body_(*g, in);
  }

 private:
  template <class... Args>
  std::unexpected<Error> bad(fmt::format_string<Args...> f, Args&&... args) const {
    return fail(Code::kMalformed, "{}: {}", n_.name(), fmt::format(f, std::forward<Args>(args)...));
  }
  Datum datum(const ir::Arg& a) const {
    const Datum* d = a.value() ? of_(a.value()) : nullptr;
    return d ? *d : from_arg(a);
  }
  Result<Datum> one(size_t i) const {
    if (i >= n_.args().size()) return bad("argument {} is missing", i);
    return datum(n_.args()[i]);
  }
  // A list argument, or a single one as a list of one.
  Result<std::vector<Datum>> list(size_t i) const {
    if (i >= n_.args().size()) return bad("argument {} is missing", i);
    std::vector<Datum> out;
    if (const auto* l = n_.args()[i].list()) {
      for (const ir::Arg& a : *l) out.push_back(datum(a));
    } else {
      out.push_back(datum(n_.args()[i]));
    }
    return out;
  }
  Result<const ir::Graph*> graph(size_t i) const {
    const auto* g = i < n_.args().size() ? n_.args()[i].graph() : nullptr;
    if (!g || !*g) return bad("argument {} is no graph", i);
    return g->get();
  }
  Result<bool> truth(const Datum& d) const {
    if (const auto* s = number(d)) return s->f != 0;
    const auto* t = tensor(d);
    if (!t || t->numel() != 1 || !ops::is_number(t->dtype)) return bad("the condition is {}", describe(d));
    return ir::load_f(t->dtype, t->data, 0) != 0;
  }
  Result<int64_t> length(const std::vector<Datum>& xs) const {
    int64_t n = -1;
    for (const Datum& x : xs) {
      const auto* t = tensor(x);
      if (!t || t->sizes.empty() || (n >= 0 && t->sizes[0] != n)) return bad("the operands have no common first size");
      n = t->sizes[0];
    }
    if (n < 0) return bad("nothing to loop over");
    return n;
  }
  static ir::Tensor slice(const ir::Tensor& t, int64_t i) {
    ir::Tensor s = t;
    s.data += i * t.strides[0] * static_cast<int64_t>(size_of(t.dtype));
    s.sizes.erase(s.sizes.begin());
    s.strides.erase(s.strides.begin());
    return s;
  }
  Result<void> stack(std::vector<ir::Tensor>& into, std::span<const Datum> out, int64_t i, int64_t rounds) const {
    for (size_t k = 0; k < out.size(); ++k) {
      const auto* t = tensor(out[k]);
      if (!t) return bad("the graph gives {}, which cannot be stacked", describe(out[k]));
      if (i == 0) {
        std::vector<int64_t> sizes = t->sizes;
        sizes.insert(sizes.begin(), rounds);
        EW_ASSIGN(ir::Tensor all, allocate(t->dtype, sizes));
        into.push_back(std::move(all));
      }
      if (out.size() != into.size()) return bad("the graph gives different numbers of results");
      const ir::Tensor place = slice(into[k], i);
      if (place.sizes != t->sizes || place.dtype != t->dtype) return bad("the graph gives results of different types");
      copy_elements(*t, place);
    }
    return {};
  }
  Result<std::vector<Datum>> finish(std::vector<Datum> first, std::vector<ir::Tensor>& stacked, int64_t rounds) const {
    if (rounds == 0)  // nothing ran: the declared types say what is empty
      for (size_t r = first.size(); r < n_.num_results(); ++r) {
        const auto* t = n_.result(r)->tensor();
        std::vector<int64_t> sizes(t ? t->rank() : 0, 0);
        for (size_t d = 1; d < sizes.size(); ++d) sizes[d] = t->shape[d].maybe().value_or(0);
        if (!t || sizes.empty()) return bad("a loop of no rounds has no result");
        stacked.push_back(ir::Tensor::empty(t->dtype, sizes));
      }
    for (ir::Tensor& t : stacked) first.push_back(std::move(t));
    return first;
  }

  const ir::Node& n_;
  const Operands& of_;
  const Body& body_;
  const int64_t max_rounds_;
};
}  // namespace

bool is_control_flow(const ir::Op& op) { return ops::control_kind(op).has_value(); }

Result<std::vector<Datum>> run_control_flow(const ir::Node& n, const Operands& of, const Body& body,
                                            int64_t max_rounds) {
  Runner r(n, of, body, max_rounds);
  const auto run = [&]() -> Result<std::vector<Datum>> {
    switch (*ops::control_kind(n.op())) {
      case ops::ControlKind::kCond: return r.cond();
      case ops::ControlKind::kWhileLoop: return r.while_loop();
      case ops::ControlKind::kMap: return r.map();
      case ops::ControlKind::kScan: return r.scan();
      case ops::ControlKind::kAssociativeScan: return r.associative_scan();
      case ops::ControlKind::kWrap: return r.wrapped();
    }
    return fail(Code::kInternal, "{} is no control flow", n.name());
  };
  auto out = run();
  if (out && out->size() != n.num_results())
    return fail(Code::kMalformed, "{} gives {} results, the graph has {}", n.name(), out->size(), n.num_results());
  return out;
}

}  // namespace edgewright::interp
