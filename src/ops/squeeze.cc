// src/ops/squeeze.cc - dims of size 1 go away. Depends on ops/view_rules.h.
#include <algorithm>

#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

// The dims that go: of those asked for, the ones of size 1. A size that is not known to be 1 stays, as the exporter guards on it.
std::vector<int64_t> gone(const Call& c, const Shape& s) {
  const bool some = c.op().schema.index_of("dim") >= 0;
  std::vector<int64_t> out;
  for (int64_t d : some ? c.axes("dim", static_cast<int64_t>(s.size()), false) : std::vector<int64_t>{})
    if (s[static_cast<size_t>(d)] == Dim(1)) out.push_back(d);
  for (size_t d = 0; !some && d < s.size(); ++d)
    if (s[d] == Dim(1)) out.push_back(static_cast<int64_t>(d));
  std::sort(out.begin(), out.end());
  return out;
}
std::vector<Layout> squeeze(const Call& c, const Layout& base) {
  const auto drop = gone(c, base.sizes);
  Layout out{{}, {}, base.offset};
  for (size_t d = 0; d < base.sizes.size(); ++d) {
    if (std::find(drop.begin(), drop.end(), static_cast<int64_t>(d)) != drop.end()) continue;
    out.sizes.push_back(base.sizes[d]);
    out.strides.push_back(base.strides[d]);
  }
  return {out};
}
Result<ir::Value*> back(const ir::Node& n, size_t, ir::Value* base, ir::Value* written, Builder& b) {
  for (int64_t d : gone(Call::of(n), shape_of(base))) written = b("aten.unsqueeze", {written, d});
  return one(b, written);
}
OpDef named(const char* schema) {
  OpDef d = view_op(schema, squeeze, back);
  d.lower = lower_as_reshape;
  return d;
}

}  // namespace

std::vector<OpDef> define_squeeze() {
  OpDef one_dim = named("aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)");
  one_dim.stock = "aten::squeeze_copy.dim_out";
  OpDef dims = named("aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)");
  dims.stock = "aten::squeeze_copy.dims_out";
  OpDef every = view_op("aten::squeeze(Tensor(a) self) -> Tensor(a)", squeeze, back);
  every.decompose = becomes("aten.squeeze.dims", [](const ir::Node& n, Builder&) -> std::vector<ir::Arg> {
    return {n.args()[0], ir::Arg::ints(gone(Call::of(n), shape_of(self_of(n))))};
  });
  return {every,
          one_dim,
          dims,
          twin_of("aten::squeeze_copy(Tensor self) -> Tensor", squeeze, "aten.squeeze"),
          twin_of("aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", squeeze, "aten.squeeze.dim"),
          twin_of("aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", squeeze, "aten.squeeze.dims")};
}

}  // namespace edgewright::ops
