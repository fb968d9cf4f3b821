#include "passes/region.h"

#include <set>

namespace edgewright::passes {

uint64_t ConstantIds::of(const ir::Tensor& t) {
  Known& k = known_[t.data];
  const std::shared_ptr<const void> owner = k.owner.lock();
  const bool same = owner && !owner.owner_before(t.owner) && !t.owner.owner_before(owner);
  if (!same) k = {t.owner, ++next_};
  return k.id;
}

namespace {

constexpr size_t kInlineBytes = 256;  // constants up to this size are told apart by content

class Extractor {
 public:
  Extractor(Region& r, ConstantIds& ids) : r_(r), g_(*r.graph), ids_(ids) {}

  void add(const Node& n) {
    std::vector<ir::Arg> args;
    write(reinterpret_cast<uintptr_t>(&n.op()));
    write(n.args().size());
    for (const ir::Arg& a : n.args()) args.push_back(copy(a));
    std::vector<ir::Type> types;
    for (size_t i = 0; i < n.num_results(); ++i) {
      types.push_back(n.result(i)->type);
      text(ir::str(types.back()));
    }
    Node* c = g_.add(n.op(), std::move(args), std::move(types), nullptr, n.origin,
                     n.num_results() ? n.result()->name : std::string());
    for (size_t i = 0; i < n.num_results(); ++i) {
      g_.rename(c->result(i), n.result(i)->name);
      c->result(i)->strides = n.result(i)->strides;
      put(n.result(i), c->result(i));
    }
  }

  Value* value(const Value* v) {
    if (const auto it = to_.find(v); it != to_.end()) {
      write(it->second.second);
      return it->second.first;
    }
    write(to_.size());
    text(ir::str(v->type));
    if (!v->is_constant()) {
      Value* c = g_.add_input(v->name, v->type);
      c->strides = v->strides;
      put(v, c);
      return c;
    }
    const ir::Tensor& t = *v->data;
    for (const int64_t s : t.strides) write(static_cast<uint64_t>(s));
    if (t.nbytes() <= kInlineBytes) {
      const ir::Tensor c = t.contiguous();
      text({reinterpret_cast<const char*>(c.data), c.nbytes()});
    } else {
      write(ids_.of(t));
    }
    Value* c = g_.add_constant(v->name, t);
    put(v, c);
    return c;
  }

  void write(uint64_t x) { r_.key.append(reinterpret_cast<const char*>(&x), sizeof x); }

 private:
  void put(const Value* from, Value* to) { to_.emplace(from, std::pair(to, to_.size())); }
  void text(std::string_view s) {
    write(s.size());
    r_.key += s;
  }
  ir::Arg copy(const ir::Arg& a) {
    write(a.v.index());
    if (Value* v = a.value()) return value(v);
    if (const auto* l = a.list()) {
      write(l->size());
      ir::ArgList out;
      for (const ir::Arg& x : *l) out.push_back(copy(x));
      return out;
    }
    if (a.i()) write(static_cast<uint64_t>(*a.i()));
    if (a.f()) text({reinterpret_cast<const char*>(a.f()), sizeof(double)});
    if (a.b()) write(*a.b());
    if (a.s()) text(*a.s());
    if (a.dtype()) write(static_cast<uint64_t>(*a.dtype()));
    if (a.graph()) {
      write((*a.graph())->hash());
      return (*a.graph())->clone();
    }
    return a;
  }

  Region& r_;
  Graph& g_;
  ConstantIds& ids_;
  std::unordered_map<const Value*, std::pair<Value*, uint64_t>> to_;
};

}  // namespace

Region region_of(const Rewriter& rw, Agreement promise, ConstantIds& ids) {
  Region r;
  r.graph = std::make_shared<Graph>();
  r.promise = promise;
  Extractor out(r, ids);
  out.write(static_cast<uint64_t>(promise));
  // Matched nodes stand before those that read them; there are few.
  std::set<const Node*> open(rw.matched_nodes().begin(), rw.matched_nodes().end());
  open.insert(&rw.root());
  const std::function<void(const Node*)> visit = [&](const Node* n) {
    if (!open.erase(n)) return;
    for (const Value* v : n->inputs())
      if (v->producer) visit(v->producer);
    out.add(*n);
    r.removed.push_back(n->num_results() ? n->result()->name : n->name());
  };
  visit(&rw.root());
  for (const Node* n : rw.matched_nodes()) visit(n);
  for (const Node* n : rw.new_nodes()) out.add(*n);
  for (size_t i = 0; i < rw.replacement().size(); ++i) {
    const Value *before = rw.root().result(i), *after = rw.replacement()[i];
    if (!after || before == after) continue;
    out.write(i);
    const Value* a = out.value(before);
    r.results.emplace_back(a, out.value(after));
  }
  for (const auto& [before, after] : r.results) r.graph->outputs.emplace_back(const_cast<Value*>(before));
  return r;
}

ir::Program Region::before() const {
  ir::Program p;
  p.graph = graph->clone();
  Graph& g = *p.graph;
  auto nodes = g.snapshot();
  while (nodes.size() > removed.size()) {  // the new ones, last first
    g.erase(nodes.back());
    nodes.pop_back();
  }
  g.remove_unused_constants();
  for (Value* v : g.inputs()) p.inputs.push_back({v->name, v, {}, v->strides});
  for (const ir::Arg& o : g.outputs) p.outputs.push_back({o.value() ? o.value()->name : ""});
  return p;
}

}  // namespace edgewright::passes
