// src/ops/movedim.cc - some dims go to given places, the others keep their order; always becomes a permute. Depends on ops/view_rules.h.
#include <algorithm>

#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

// [movedim.1] source and destination have the same length.
std::vector<int64_t> perm_of(const Call& c) {
  const int64_t rank = static_cast<int64_t>(c.tensor("self").rank());
  const auto from = c.axes("source", rank, false), to = c.axes("destination", rank, false);
  std::vector<int64_t> p(static_cast<size_t>(rank), -1);
  if (from.size() != to.size())
    c.error(fmt::format("[movedim.1] {} sources for {} destinations", from.size(), to.size()));
  for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) p[static_cast<size_t>(to[i])] = from[i];
  int64_t next = 0;
  for (int64_t& d : p) {
    if (d >= 0) continue;
    while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
    d = std::min(next++, rank - 1);
  }
  return p;
}
std::vector<Layout> rule(const Call& c, const Layout& base) { return {permuted(base, perm_of(c))}; }

OpDef named(const char* schema) {
  OpDef d = view_op(schema, rule, [](const ir::Node& n, size_t, ir::Value*, ir::Value* written, Builder& b) {
    return one(b, b("aten.permute", {written, ir::Arg::ints(inverse(perm_of(Call::of(n))))}));
  });
  d.decompose = becomes("aten.permute", [](const ir::Node& n, Builder&) -> std::vector<ir::Arg> {
    return {n.args()[0], ir::Arg::ints(perm_of(Call::of(n)))};
  });
  return d;
}

}  // namespace

std::vector<OpDef> define_movedim() {
  return {named("aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)"),
          named("aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)"),
          named("aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)"),
          named("aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")};
}

}  // namespace edgewright::ops
