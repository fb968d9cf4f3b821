// src/ops/unbind.cc - every index along a dim as a tensor of its own. Depends on ops/view_rules.h.
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

constexpr int64_t kMaxResults = 1 << 16;

// [unbind.1] self has dims. [unbind.2] The dim's size is known.
std::vector<Layout> unbind(const Call& c, const Layout& base) {
  if (base.sizes.empty()) {
    c.error("[unbind.1] a 0-dim tensor has no dim to unbind");
    return {};
  }
  const int64_t d = c.axis("dim", static_cast<int64_t>(base.sizes.size()));
  const Dim n = base.sizes[static_cast<size_t>(d)];
  if (!n.is_constant() || n.value() > kMaxResults) {
    c.error(fmt::format("[unbind.2] a dim of size {} cannot be unbound", n.str()));
    return {};
  }
  Layout one = base;
  one.sizes.erase(one.sizes.begin() + d);
  one.strides.erase(one.strides.begin() + d);
  std::vector<Layout> out;
  for (int64_t i = 0; i < n.value(); ++i) {
    one.offset = base.offset + Dim(i) * base.strides[static_cast<size_t>(d)];
    out.push_back(one);
  }
  return out;
}
Result<ir::Value*> back(const ir::Node& n, size_t r, ir::Value* base, ir::Value* written, Builder& b) {
  return one(b, b("aten.select_scatter", {base, written, n.arg("dim"), static_cast<int64_t>(r)}));
}
Result<std::vector<ir::Value*>> as_selects(const ir::Node& n, Builder& b) {
  std::vector<ir::Value*> out;
  for (size_t r = 0; r < n.num_results(); ++r)
    out.push_back(b("aten.select.int", {self_of(n), n.arg("dim"), static_cast<int64_t>(r)}));
  return all(b, std::move(out));
}

}  // namespace

std::vector<OpDef> define_unbind() {
  OpDef d = view_op("aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", unbind, back);
  d.decompose = as_selects;
  OpDef copy = moving_op("aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", unbind);
  copy.decompose = as_selects;
  return {d, copy};
}

}  // namespace edgewright::ops
