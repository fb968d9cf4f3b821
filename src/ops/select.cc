// src/ops/select.cc - one index along a dim, which goes away. Depends on ops/view_rules.h.
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

// [select.1] self has dims. [select.2] index lies in [-size, size).
std::vector<Layout> select(const Call& c, const Layout& base) {
  if (base.sizes.empty()) {
    c.error("[select.1] a 0-dim tensor has nothing to select from");
    return {};
  }
  const int64_t d = c.axis("dim", static_cast<int64_t>(base.sizes.size()));
  Layout out = base;
  out.offset = base.offset + wrapped_index(c, c.dim("index"), base.sizes[static_cast<size_t>(d)]) *
                                 base.strides[static_cast<size_t>(d)];
  out.sizes.erase(out.sizes.begin() + d);
  out.strides.erase(out.strides.begin() + d);
  return {out};
}
Result<ir::Value*> back(const ir::Node& n, size_t, ir::Value* base, ir::Value* written, Builder& b) {
  return one(b, b("aten.select_scatter", {base, written, n.arg("dim"), n.arg("index")}));
}
Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  const Call c = Call::of(n);
  const Shape& s = shape_of(self_of(n));
  const int64_t d = c.axis("dim", rank_of(self_of(n)));
  const Dim at = wrapped_index(c, c.dim("index"), s[static_cast<size_t>(d)]);
  if (s[static_cast<size_t>(d)] == Dim(1)) return lower_as_reshape(n, out);
  TensorType kept = *self_of(n)->tensor();
  kept.shape[static_cast<size_t>(d)] = 1;
  const ir::Value* t = out.temporary(kept);
  EW_TRY(emit_slice(out, self_of(n), t, d, at, 1));
  return out.static_reshape(t, n.result(), shape_of(n.result()));
}

}  // namespace

std::vector<OpDef> define_select() {
  OpDef d = view_op("aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", select, back);
  d.lower = lower;
  d.stock = "aten::select_copy.int_out";
  return {d, twin_of("aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", select, "aten.select.int")};
}

}  // namespace edgewright::ops
