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

// [view.dtype.1] Where the widths differ the last size changes by their ratio, to a whole number. [view.dtype.2] Both have bytes of their own.
Result<Types> infer_dtype(const Call& c) {
  TensorType t = c.tensor("self");
  const DType to = c.dtype("dtype").value_or(t.dtype);
  const auto from = static_cast<int64_t>(size_of(t.dtype)), width = static_cast<int64_t>(size_of(to));
  if (from == 0 || width == 0) {
    c.error(fmt::format("[view.dtype.2] viewing {} as {}", name(t.dtype), name(to)));
  } else if (from != width) {
    if (t.shape.empty() || (t.shape.back().is_constant() && t.shape.back().value() * from % width != 0)) {
      c.error(fmt::format("[view.dtype.1] viewing {} as {}", ir::str(Type(t)), name(to)));
      return Types{t};
    }
    t.shape.back() = from > width ? t.shape.back() * Dim(from / width) : floordiv(t.shape.back(), Dim(width / from));
  }
  t.dtype = to;
  return Types{t};
}
Result<void> whole_dtype(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  ir::Tensor t = in[0].contiguous();
  t.sizes = out[0].sizes;
  t.strides = ir::contiguous_strides(t.sizes);
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
  as_dtype.stock = "aten::view_copy.dtype_out";
  OpDef as_dtype_copy = as_dtype;
  as_dtype_copy.schema_text = "aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor";
  as_dtype_copy.view_of = "";
  as_dtype_copy.scatter_back = nullptr;
  as_dtype_copy.stock = {};
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
