#include "reduce.h"

#include <algorithm>

#include "base/file.h"
#include "ops/build.h"
#include "session/convert.h"
#include "session/value.h"

namespace edgewright::random {
namespace {

using interp::Datum;
using ir::Arg;
using ir::Tensor;
using ir::Value;
using Map = std::unordered_map<const Value*, Value*>;

// A copy without what is not needed; inputs of the calls follow.
Case clean(Case c) {
  std::vector<size_t> kept;
  c.graph = pruned(*c.graph, &kept);
  for (Inputs& call : c.sample.calls) {
    Inputs left;
    for (const size_t i : kept) left.push_back(call[i]);
    call = std::move(left);
  }
  return c;
}

Case copy(const Case& c, Map* map = nullptr) {
  Case out = c;
  out.graph = c.graph->clone(map);
  return out;
}

// The values of all nodes in the first call, as they were right after each node.
std::unordered_map<const Value*, Tensor> values_of(const Case& c) {
  std::unordered_map<const Value*, Tensor> seen;
  interp::Options o;
  o.observe = [&](const ir::Node& n, std::span<const Datum> results) {
    for (size_t i = 0; i < results.size(); ++i)
      if (const auto* t = interp::tensor(results[i])) seen[n.result(i)] = interp::private_copy(t->contiguous());
  };
  (void)interp::run(*c.graph, c.sample.calls[0], o);
  return seen;
}

Tensor cut(const Tensor& t, size_t dim, int64_t size) {
  Tensor view = t;
  view.sizes[dim] = size;
  return interp::private_copy(view).contiguous();
}

// The same nodes over inputs and constants of other sizes; nullopt where a rule is against it.
std::optional<Case> rebuilt(const Case& c, const std::function<Tensor(const Value*, const Tensor&)>& change) {
  Case out;
  out.ranges = c.ranges;
  out.graph = std::make_shared<ir::Graph>();
  Map map;
  out.sample.calls.resize(1);
  for (size_t i = 0; i < c.graph->inputs().size(); ++i) {
    const Value* v = c.graph->inputs()[i];
    const auto* t = interp::tensor(c.sample.calls[0][i]);
    if (!t) return std::nullopt;
    Tensor changed = change(v, *t);
    map[v] = out.graph->add_input(v->name, ir::TensorType{changed.dtype, {changed.sizes.begin(), changed.sizes.end()}});
    out.sample.calls[0].emplace_back(changed);
  }
  for (const Value* v : c.graph->constants()) map[v] = out.graph->add_constant(v->name, change(v, *v->data));
  for (const Value* v : c.graph->states()) map[v] = out.graph->add_state(v->name, change(v, *v->data));
  const auto moved = [&](Arg a) {
    a.each_value([&](Value*& v) { v = map.at(v); });
    return a;
  };
  for (const auto& n : c.graph->nodes()) {
    std::vector<Arg> args;
    for (const Arg& a : n->args()) args.push_back(moved(a));
    auto made = ops::add_node(*out.graph, n->name(), std::move(args));
    if (!made || (*made)->num_results() != n->num_results()) return std::nullopt;
    for (size_t i = 0; i < n->num_results(); ++i) {
      map[n->result(i)] = (*made)->result(i);
      out.graph->rename((*made)->result(i), n->result(i)->name);
    }
  }
  for (const Arg& a : c.graph->outputs) out.graph->outputs.push_back(moved(a));
  for (const ir::Write& w : c.graph->writes) {
    if (!(map.at(w.target)->type == map.at(w.value)->type)) return std::nullopt;
    out.graph->writes.push_back({map.at(w.target), map.at(w.value)});
  }
  if (!interpret(out.program(), out.sample)) return std::nullopt;
  return out;
}

class Reducer {
 public:
  Reducer(Case c, const Fails& fails, int tries) : best_(std::move(c)), fails_(fails), left_(tries) {}

  Case run() {
    if (best_.sample.calls.size() > 1) {
      Case one = copy(best_);
      one.sample.calls.resize(1);
      accept(std::move(one));
    }
    for (bool better = true; better && left_ > 0;) better = drop_outputs() | drop_nodes() | shrink() | simplify();
    return best_;
  }

 private:
  bool accept(Case c) {
    if (left_-- <= 0 || !fails_(c)) return false;
    best_ = std::move(c);
    return true;
  }
  bool drop_outputs() {
    bool better = false;
    for (size_t i = best_.graph->outputs.size(); i-- > 0;) {
      if (best_.graph->outputs.size() == 1) break;
      if (i >= best_.graph->outputs.size()) continue;
      Case c = copy(best_);
      c.graph->outputs.erase(c.graph->outputs.begin() + static_cast<std::ptrdiff_t>(i));
      better |= accept(clean(std::move(c)));
    }
    for (size_t i = best_.graph->writes.size(); i-- > 0;) {
      if (i >= best_.graph->writes.size()) continue;
      Case c = copy(best_);
      c.graph->writes.erase(c.graph->writes.begin() + static_cast<std::ptrdiff_t>(i));
      better |= accept(clean(std::move(c)));
    }
    return better;
  }
  // From the end: outputs move up to operands. From the start: results become inputs.
  bool drop_nodes() {
    bool better = false;
    for (size_t i = best_.graph->nodes().size(); i-- > 0;) {
      const auto nodes = best_.graph->snapshot();
      if (i >= nodes.size()) continue;
      better |= without(nodes[i]);
    }
    return better;
  }
  bool without(const ir::Node* n) {
    const auto seen = values_of(best_);
    for (const bool as_input : {true, false}) {
      Map map;
      Case c = copy(best_, &map);
      ir::Node* twin = map.at(n->result())->producer;
      bool ok = true;
      for (size_t r = 0; r < n->num_results() && ok; ++r) {
        Value* v = twin->result(r);
        if (v->users.empty() && !c.graph->is_output(v)) continue;
        Value* stand_in = nullptr;
        if (as_input) {
          const auto it = seen.find(n->result(r));
          if (it == seen.end() || c.sample.calls.size() > 1) {
            ok = false;
            break;
          }
          stand_in = c.graph->add_input("v", v->type);
          c.sample.calls[0].emplace_back(it->second);
        } else {
          for (Value* in : twin->inputs())
            if (in->type == v->type) stand_in = in;
        }
        if (!stand_in) {
          ok = false;
          break;
        }
        c.graph->replace_all_uses(v, stand_in);
      }
      if (!ok) continue;
      c.graph->erase(twin);
      if (accept(clean(std::move(c)))) return true;
    }
    // Its operands as outputs instead of its results.
    Map map;
    Case c = copy(best_, &map);
    ir::Node* twin = map.at(n->result())->producer;
    for (size_t r = 0; r < twin->num_results(); ++r)
      if (!twin->result(r)->users.empty()) return false;
    std::erase_if(c.graph->outputs, [&](const Arg& a) { return a.value() && a.value()->producer == twin; });
    for (Value* in : twin->inputs())
      if (in->producer &&
          std::none_of(c.graph->outputs.begin(), c.graph->outputs.end(), [&](const Arg& a) { return a.value() == in; }))
        c.graph->outputs.emplace_back(in);
    if (c.graph->outputs.empty() || c.graph->is_output(twin->result())) return false;
    c.graph->erase(twin);
    return accept(clean(std::move(c)));
  }
  bool shrink() {
    bool better = false;
    std::set<int64_t> all;
    const auto collect = [&](const Tensor& t) { all.insert(t.sizes.begin(), t.sizes.end()); };
    for (const Datum& d : best_.sample.calls[0]) collect(std::get<Tensor>(d));
    for (const Value* v : best_.graph->constants()) collect(*v->data);
    for (const Value* v : best_.graph->states()) collect(*v->data);
    const std::vector<int64_t> sizes(all.rbegin(), all.rend());
    for (const int64_t from : sizes)
      for (const int64_t to : {int64_t{1}, int64_t{2}, from / 2, from - 1}) {
        if (to < 1 || to >= from || left_ <= 0) continue;
        // Every dim of that size at once, else the first dims of each leaf by themselves.
        auto c = rebuilt(best_, [&](const Value*, const Tensor& t) {
          Tensor r = t;
          for (size_t d = 0; d < t.sizes.size(); ++d)
            if (t.sizes[d] == from) r = cut(r, d, to);
          return r;
        });
        if (c && accept(std::move(*c))) {
          better = true;
          break;
        }
      }
    return better;
  }
  bool simplify() {
    bool better = false;
    const auto with = [&](const auto& f) {
      auto c = rebuilt(best_, [&](const Value*, const Tensor& t) {
        Tensor r = Tensor::empty(t.dtype, t.sizes);
        const Tensor from = t.contiguous();
        for (int64_t i = 0; i < r.numel(); ++i) {
          if (is_float(t.dtype)) {
            ir::store_f(t.dtype, r.mutable_data(), i, f(ir::load_f(t.dtype, from.data, i)));
          } else {
            ir::store_i(t.dtype, r.mutable_data(), i, ir::load_i(t.dtype, from.data, i));
          }
        }
        return r;
      });
      if (!c) return;
      if (text_of(*c) != text_of(best_)) better |= accept(std::move(*c));
    };
    with([](double v) { return std::round(v); });
    with([](double v) { return std::round(v * 4) / 4; });
    return better;
  }

  Case best_;
  const Fails& fails_;
  int left_;
};

}  // namespace

Case reduce(Case c, const Fails& fails, int tries) { return Reducer(std::move(c), fails, tries).run(); }

std::string text_of(const Case& c) {
  std::string s;
  for (size_t i = 0; i < c.graph->inputs().size(); ++i) {
    const auto* t = interp::tensor(c.sample.calls[0][i]);
    if (!t || t->numel() > 64) continue;
    std::string numbers;
    const Tensor k = t->contiguous();
    for (int64_t j = 0; j < k.numel(); ++j)
      numbers += fmt::format("{}{}", j ? ", " : "",
                             is_float(k.dtype) ? fmt::format("{}", ir::load_f(k.dtype, k.data, j))
                                               : fmt::format("{}", ir::load_i(k.dtype, k.data, j)));
    s += fmt::format("# %{} = [{}]\n", c.graph->inputs()[i]->name, numbers);
  }
  return s + ir::print(*c.graph, {.inline_elements = 1 << 20, .ranges = &c.ranges});
}

Result<std::string> write_case(const Case& c, const std::string& stem) {
  const std::string text = text_of(c);
  EW_TRY(write_file(stem + ".ir", {reinterpret_cast<const std::byte*>(text.data()), text.size()}));
  std::vector<session::Value> inputs;
  for (const Datum& d : c.sample.calls[0]) inputs.push_back(session::to_value(d));
  if (inputs.empty()) return fmt::format("edgewright check {}.ir", stem);
  EW_TRY(session::write_outputs(stem + ".safetensors", inputs));
  return fmt::format("edgewright check {0}.ir --inputs {0}.safetensors", stem);
}

}  // namespace edgewright::random
