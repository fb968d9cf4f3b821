// src/ops/view.cc - the same elements in row-major order under other sizes. Depends on ops/view_rules.h.
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

std::vector<Layout> by_size(const Call& c, const Layout& base) {
  return {reshaped(base, resolve_sizes(c, base.sizes, c.dims("size")))};
}
std::vector<Layout> by_other(const Call& c, const Layout& base) {
  return {reshaped(base, resolve_sizes(c, base.sizes, c.tensor("other").shape))};
}

// [view.dtype.1] Both dtypes have the same width; others would change the last size.
Result<Types> infer_dtype(const Call& c) {
  TensorType t = c.tensor("self");
  const DType to = c.dtype("dtype").value_or(t.dtype);
  if (size_of(to) != size_of(t.dtype))
    c.error(fmt::format("[view.dtype.1] viewing {} as {} changes the sizes", name(t.dtype), name(to)));
  t.dtype = to;
  return Types{t};
}
Result<void> whole_dtype(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  ir::Tensor t = in[0].contiguous();
  t.dtype = c.dtype("dtype").value_or(t.dtype);
  out[0] = std::move(t);
  return {};
}
Result<ir::Value*> back_dtype(const ir::Node&, size_t, ir::Value* base, ir::Value* written, Builder& b) {
  return one(b, b("aten.view.dtype", {written, base->tensor()->dtype}));
}

}  // namespace

std::vector<OpDef> define_view() {
  OpDef view = view_op("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", by_size, scatter_reshaped);
  view.lower = lower_as_reshape;
  view.stock = "aten::view_copy.out";
  OpDef as_dtype;
  as_dtype.schema_text = "aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)";
  as_dtype.infer = infer_dtype;
  as_dtype.whole = whole_dtype;
  as_dtype.view_of = "self";
  as_dtype.scatter_back = back_dtype;
  OpDef as_dtype_copy = as_dtype;
  as_dtype_copy.schema_text = "aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor";
  as_dtype_copy.view_of = "";
  as_dtype_copy.scatter_back = nullptr;
  as_dtype_copy.decompose = becomes("aten.view.dtype");
  OpDef view_as = view_op("aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)", by_other, scatter_reshaped);
  view_as.decompose = becomes("aten.view", [](const ir::Node& n, Builder& b) -> std::vector<ir::Arg> {
    return {n.args()[0], size_args(b, n.args()[1].value())};
  });
  return {view,
          as_dtype,
          twin_of("aten::view_copy(Tensor self, SymInt[] size) -> Tensor", by_size, "aten.view"),
          as_dtype_copy,
          twin_of("aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", by_size, "aten.view"),
          view_as};
}

}  // namespace edgewright::ops
