// src/ops/permute.cc - dims in another order, given in full. Depends on ops/view_rules.h.
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

// [permute.1] dims names every dim once.
std::vector<int64_t> perm_of(const Call& c, int64_t rank) {
  std::vector<int64_t> p = c.axes("dims", rank, false);
  if (static_cast<int64_t>(p.size()) != rank) {
    c.error(fmt::format("[permute.1] dims names {} of {} dims", p.size(), rank));
    p.clear();
    for (int64_t d = 0; d < rank; ++d) p.push_back(d);
  }
  return p;
}
std::vector<Layout> permute(const Call& c, const Layout& base) {
  return {permuted(base, perm_of(c, static_cast<int64_t>(base.sizes.size())))};
}

Result<ir::Value*> back(const ir::Node& n, size_t, ir::Value*, ir::Value* written, Builder& b) {
  return one(b, b("aten.permute", {written, ir::Arg::ints(inverse(perm_of(Call::of(n), rank_of(written))))}));
}
Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  return emit_transpose(out, self_of(n), n.result(), perm_of(Call::of(n), rank_of(self_of(n))));
}

}  // namespace

std::vector<OpDef> define_permute() {
  OpDef d = view_op("aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", permute, back);
  d.lower = lower;
  d.stock = "aten::permute_copy.out";
  return {d, twin_of("aten::permute_copy(Tensor self, int[] dims) -> Tensor", permute, "aten.permute")};
}

}  // namespace edgewright::ops
