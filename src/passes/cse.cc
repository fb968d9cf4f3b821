// src/passes/cse.cc - cse: two nodes with the same op and the same arguments -> one; two constants with the same elements -> one.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

uint64_t mix(uint64_t h, uint64_t x) { return (h ^ x) * 0x9e3779b97f4a7c15ull + (h >> 29); }

uint64_t key(const ir::Arg& a) {
  uint64_t h = a.v.index();
  if (a.value()) return mix(h, reinterpret_cast<uintptr_t>(a.value()));
  if (a.i()) return mix(h, static_cast<uint64_t>(*a.i()));
  if (a.f()) return mix(h, std::hash<double>{}(*a.f()));
  if (a.b()) return mix(h, *a.b());
  if (a.s()) return mix(h, std::hash<std::string>{}(*a.s()));
  if (a.dtype()) return mix(h, static_cast<uint64_t>(*a.dtype()));
  if (a.list())
    for (const ir::Arg& x : *a.list()) h = mix(h, key(x));
  return h;
}

// Arguments equal, 0.0 and -0.0 told apart, a NaN equal to nothing.
bool same(const ir::Arg& a, const ir::Arg& b) {
  if (a.f() && b.f()) return *a.f() == *b.f() && std::signbit(*a.f()) == std::signbit(*b.f());
  if (a.list() && b.list()) {
    if (a.list()->size() != b.list()->size()) return false;
    for (size_t i = 0; i < a.list()->size(); ++i)
      if (!same((*a.list())[i], (*b.list())[i])) return false;
    return true;
  }
  return !a.graph() && a == b;
}

// Elements are compared where that costs nothing; greater constants are equal where they are the same bytes of the file.
constexpr size_t kCompared = 4096;

bool same(const ir::Tensor& a, const ir::Tensor& b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes) return false;
  if (a.data == b.data && a.strides == b.strides) return true;
  return a.nbytes() <= kCompared && a.is_contiguous() && b.is_contiguous() &&
         std::memcmp(a.data, b.data, a.nbytes()) == 0;
}

bool merge_constants(Graph& g) {
  std::unordered_multimap<uint64_t, Value*> seen;
  bool changed = false;
  for (Value* v : g.constants()) {
    const ir::Tensor& t = *v->data;
    uint64_t h = static_cast<uint64_t>(t.dtype);
    for (int64_t s : t.sizes) h = mix(h, static_cast<uint64_t>(s));
    if (t.nbytes() <= kCompared && t.is_contiguous())
      h = mix(h, std::hash<std::string_view>{}({reinterpret_cast<const char*>(t.data), t.nbytes()}));
    else
      h = mix(h, reinterpret_cast<uintptr_t>(t.data));
    const auto [begin, end] = seen.equal_range(h);
    const auto twin = std::find_if(begin, end, [&](const auto& s) { return same(*s.second->data, t); });
    if (twin == end) {
      seen.emplace(h, v);
    } else if (!v->users.empty() || g.is_output(v)) {
      g.replace_all_uses(v, twin->second);
      changed = true;
    }
  }
  return changed;
}

Result<bool> run(ir::Program& p) {
  Graph& g = *p.graph;
  std::unordered_multimap<uint64_t, Node*> seen;
  bool changed = merge_constants(g);
  for (Node* n : g.snapshot()) {
    const ops::OpDef* d = ops::def(*n);
    if (!d || d->has_side_effect || d->functional || d->is_nondeterministic || n->num_results() == 0) continue;
    uint64_t h = std::hash<std::string>{}(n->name());
    for (const ir::Arg& a : n->args()) h = mix(h, key(a));
    Node* twin = nullptr;
    for (auto [it, end] = seen.equal_range(h); it != end && !twin; ++it) {
      Node* o = it->second;
      bool equal = &o->op() == &n->op() && o->args().size() == n->args().size() && o->num_results() == n->num_results();
      for (size_t i = 0; equal && i < n->args().size(); ++i) equal = same(o->args()[i], n->args()[i]);
      for (size_t i = 0; equal && i < n->num_results(); ++i) equal = o->result(i)->type == n->result(i)->type;
      if (equal) twin = o;
    }
    if (!twin) {
      seen.emplace(h, n);
      continue;
    }
    for (size_t i = 0; i < n->num_results(); ++i) g.replace_all_uses(n->result(i), twin->result(i));
    g.erase(n);
    changed = true;
  }
  return changed;
}

}  // namespace
PassDef define_cse() {
  return {
      .name = "cse", .run = run, .agreement = Agreement::kBitExact, .summary = "two equal nodes or constants -> one"};
}
}  // namespace edgewright::passes
