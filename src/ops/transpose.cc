// src/ops/transpose.cc - two dims change places, under all of its names; always becomes a permute. Depends on ops/view_rules.h.
#include <algorithm>
#include <numeric>

#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

using Perm = std::function<std::vector<int64_t>(const Call&, int64_t rank)>;

std::vector<int64_t> same(int64_t rank) {
  std::vector<int64_t> p(static_cast<size_t>(rank));
  std::iota(p.begin(), p.end(), 0);
  return p;
}
Perm swap(const char* a, const char* b) {
  return [a, b](const Call& c, int64_t rank) {
    auto p = same(rank);
    if (rank > 0) std::swap(p[static_cast<size_t>(c.axis(a, rank))], p[static_cast<size_t>(c.axis(b, rank))]);
    return p;
  };
}
// [t.1] self has at most two dims.
std::vector<int64_t> t(const Call& c, int64_t rank) {
  auto p = same(rank);
  if (rank > 2) c.error(fmt::format("[t.1] self has {} dims, more than 2", rank));
  std::reverse(p.begin(), p.end());
  return p;
}
std::vector<int64_t> reversed(const Call&, int64_t rank) {
  auto p = same(rank);
  std::reverse(p.begin(), p.end());
  return p;
}
// [mT.1] self has at least two dims (mT of a 0-dim tensor is refused as PyTorch does; numpy_T is not).
std::vector<int64_t> last_two(const Call& c, int64_t rank) {
  auto p = same(rank);
  if (rank < 2)
    c.error(fmt::format("[mT.1] self has {} dims, fewer than 2", rank));
  else
    std::swap(p[p.size() - 1], p[p.size() - 2]);
  return p;
}

LayoutRule rule(Perm perm) {
  return [perm](const Call& c, const Layout& base) -> std::vector<Layout> {
    return {permuted(base, perm(c, static_cast<int64_t>(base.sizes.size())))};
  };
}
OpDef named(const char* schema, Perm perm) {
  OpDef d = view_op(schema, rule(perm), [perm](const ir::Node& n, size_t, ir::Value*, ir::Value* written, Builder& b) {
    return one(b, b("aten.permute", {written, ir::Arg::ints(inverse(perm(Call::of(n), rank_of(written))))}));
  });
  d.decompose = becomes("aten.permute", [perm](const ir::Node& n, Builder&) -> std::vector<ir::Arg> {
    return {n.args()[0], ir::Arg::ints(perm(Call::of(n), rank_of(self_of(n))))};
  });
  return d;
}

}  // namespace

std::vector<OpDef> define_transpose() {
  return {named("aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", swap("dim0", "dim1")),
          named("aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", swap("axis0", "axis1")),
          named("aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", swap("dim0", "dim1")),
          named("aten::t(Tensor(a) self) -> Tensor(a)", t),
          named("aten::numpy_T(Tensor(a) self) -> Tensor(a)", reversed),
          named("aten::mT(Tensor(a) self) -> Tensor(a)", last_two),
          twin_of("aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", rule(swap("dim0", "dim1")),
                  "aten.transpose.int"),
          twin_of("aten::t_copy(Tensor self) -> Tensor", rule(t), "aten.t")};
}

}  // namespace edgewright::ops
