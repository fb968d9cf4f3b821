// src/ops/to_copy.cc - a copy of another dtype: _to_copy, and to.*, type_as, which are it or nothing. Depends on ops/quantization.h.
#include "ops/quantization.h"

namespace edgewright::ops {
namespace {

// [to_copy.1] Number dtypes, or no change at all.
Result<Types> converted(const Call& c, DType to) {
  TensorType t = c.type(0);
  if (t.dtype != to && (!is_number(t.dtype) || !is_number(to)))
    return fail(Code::kUnsupported, "{}: [to_copy.1] from {} to {}", c.name(), name(t.dtype), name(to));
  t.dtype = to;
  return Types{std::move(t)};
}

// Truncates. What does not fit becomes the lowest int of the register that the processor converts in, then wraps.
int64_t truncated(DType to, double v) {
  if (to == DType::u32 && v >= 0 && v < 0x1p32) return static_cast<int64_t>(v);
  return cast_to_quantized(to, v);
}

// Any strides to contiguous.
void convert(const ir::Tensor& in, ir::Tensor& out) {
  if (in.dtype == out.dtype) return copy_into(in, out);
  const ir::Tensor x = in.contiguous();
  constexpr int64_t kBlock = 512;
  const bool real = is_float(x.dtype) || is_float(out.dtype), truncates = is_float(x.dtype) && is_int(out.dtype);
  std::array<double, kBlock> f;
  std::array<int64_t, kBlock> i;
  for (int64_t at = 0, n = x.numel(); at < n; at += kBlock) {
    const int64_t m = std::min(kBlock, n - at);
    if (real)
      load_block(x.dtype, x.data, at, 1, m, f.data());
    else
      load_block(x.dtype, x.data, at, 1, m, i.data());
    if (truncates)
      for (int64_t j = 0; j < m; ++j) i[static_cast<size_t>(j)] = truncated(out.dtype, f[static_cast<size_t>(j)]);
    if (real && !truncates)
      store_block(out.dtype, out.mutable_data(), at, m, f.data());
    else
      store_block(out.dtype, out.mutable_data(), at, m, i.data());
  }
}

// The tensor itself where it has the dtype already, a copy otherwise (or where "copy" says so). Decompose these before
// aliasing matters: whether the result shares storage depends on the dtypes.
OpDef conversion(const char* schema, DType (*to)(const Call&)) {
  OpDef d;
  d.schema_text = schema;
  d.infer = [to](const Call& c) { return converted(c, to(c)); };
  d.decompose = [](const ir::Node& n, Builder& b) {
    ir::Value* self = n.arg("self").value();
    const bool copies = n.op().schema.index_of("copy") >= 0 && n.arg("copy").b() && *n.arg("copy").b();
    if (self->type == n.result()->type) return b.done({copies ? b("aten.clone", {self}) : self});
    return b.done({b("aten._to_copy", {self, n.result()->tensor()->dtype})});
  };
  return d;
}

}  // namespace

std::vector<OpDef> define_to_copy() {
  OpDef d;
  d.schema_text =
      "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
      "pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor";
  d.infer = [](const Call& c) { return converted(c, c.dtype("dtype").value_or(c.type(0).dtype)); };
  d.eval = [infer = d.infer](const Call& c, size_t) -> Result<Point> {
    EW_ASSIGN(const Types t, infer(c));
    const DType from = c.type(0).dtype, to = std::get<TensorType>(t[0]).dtype;
    if (from == to)
      return move_point([](Index at, int64_t* in) {
        std::copy(at.begin(), at.end(), in);
        return 0;
      });
    if (is_float(to)) return float_point([](const auto& in, Index at) { return in.f(0, at); });
    if (!is_float(from)) return int_point([](const In& in, Index at) { return in.i(0, at); });
    if (is_bool(to)) return int_point([](const In& in, Index at) { return int64_t{in.f(0, at) != 0}; });
    return int_point([to](const In& in, Index at) { return truncated(to, in.f(0, at)); });
  };
  d.whole = [](const Call&, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    convert(in[0], out[0]);
    return {};
  };
  d.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    if (n.arg("self").value()->type == n.result()->type) return b.done({n.arg("self").value()});
    return std::vector<ir::Value*>{};
  };
  d.lower = [](const ir::Node& n, XnnEmitter& x) -> Result<void> {
    const DType from = n.arg("self").value()->tensor()->dtype, to = n.result()->tensor()->dtype;
    const bool halves = (from == DType::f16 && to == DType::f32) || (from == DType::f32 && to == DType::f16);
    if (from != to && !halves)
      return fail(Code::kKeptOnHost, "XNNPACK does not convert {} to {}", name(from), name(to));
    return x.copy(n.arg("self").value(), n.result());
  };
  d.stock = "aten::_to_copy.out";
  d.stock_args = [](const ir::Node& n) { return std::vector<ir::Arg>{n.arg("self"), false, ir::Arg()}; };

  const auto by_dtype = [](const char* schema) {
    return conversion(schema, [](const Call& c) { return c.dtype("dtype").value_or(c.type(0).dtype); });
  };
  const auto by_other = [](const char* schema) {
    return conversion(schema, [](const Call& c) { return c.tensor("other").dtype; });
  };
  return {std::move(d),
          by_dtype("aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
                   "MemoryFormat? memory_format=None) -> Tensor(a)"),
          by_dtype("aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
                   "device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? "
                   "memory_format=None) -> Tensor(a)"),
          by_dtype("aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool "
                   "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)"),
          by_other("aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
                   "MemoryFormat? memory_format=None) -> Tensor(a)"),
          by_other("aten::type_as(Tensor self, Tensor other) -> Tensor")};
}

}  // namespace edgewright::ops
