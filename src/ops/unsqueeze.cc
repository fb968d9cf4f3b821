// src/ops/unsqueeze.cc - a new dim of size 1. Depends on ops/view_rules.h.
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

std::vector<Layout> unsqueeze(const Call& c, const Layout& base) {
  const int64_t d = c.axis("dim", static_cast<int64_t>(base.sizes.size()) + 1);
  Layout out = base;
  const Dim stride = static_cast<size_t>(d) < base.sizes.size()
                         ? base.sizes[static_cast<size_t>(d)] * base.strides[static_cast<size_t>(d)]
                         : Dim(1);
  out.sizes.insert(out.sizes.begin() + d, Dim(1));
  out.strides.insert(out.strides.begin() + d, stride);
  return {out};
}
Result<ir::Value*> back(const ir::Node& n, size_t, ir::Value* base, ir::Value* written, Builder& b) {
  return one(b, b("aten.squeeze.dim", {written, Call::of(n).axis("dim", rank_of(base) + 1)}));
}

}  // namespace

std::vector<OpDef> define_unsqueeze() {
  OpDef d = view_op("aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", unsqueeze, back);
  d.lower = lower_as_reshape;
  d.stock = "aten::unsqueeze_copy.out";
  return {d, twin_of("aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", unsqueeze, "aten.unsqueeze")};
}

}  // namespace edgewright::ops
