// src/ops/fake_quantize.cc - quantize and dequantize in one, in floats, as training has it. Depends on ops/families.h.
//
// out = (clamp(round(self / scale) + zero_point, quant_min, quant_max) - zero_point) * scale in f32, 1/scale being rounded first;
// the mask says where nothing was clamped. PyTorch's own kernels take NaN to quant_min; quantized_decomposed's leave it.
#include "ops/dense.h"

namespace edgewright::ops {
namespace {

const char* scales_of(const ir::Op& op) { return op.schema.index_of("scales") >= 0 ? "scales" : "scale"; }
const char* zeros_of(const ir::Op& op) { return op.schema.index_of("zero_points") >= 0 ? "zero_points" : "zero_point"; }
const char* input_of(const ir::Op& op) { return op.schema.index_of("self") >= 0 ? "self" : "input"; }

// [fake_quantize.1] Floats of up to 32 bits. [fake_quantize.2] quant_min <= quant_max; a constant zero point lies between.
// [fake_quantize.3] One scale and zero point, or one for each index of `axis`.
Result<Types> infer_types(const Call& c) {
  const TensorType& x = c.tensor(input_of(c.op()));
  if (!is_float(x.dtype) || x.dtype == DType::f64) c.error(fmt::format("[fake_quantize.1] {}", name(x.dtype)));
  const int64_t lo = c.i("quant_min"), hi = c.i("quant_max");
  if (lo > hi) c.error(fmt::format("[fake_quantize.2] quant_min {} and quant_max {}", lo, hi));
  const char *scales = scales_of(c.op()), *zeros = zeros_of(c.op());
  if (c.number_kind(zeros) && (c.i(zeros) < lo || c.i(zeros) > hi))
    c.error(fmt::format("[fake_quantize.2] zero_point {} outside of [{}, {}]", c.i(zeros), lo, hi));
  if (!c.number_kind(scales)) {
    Dim count(1);
    if (c.op().schema.index_of("axis") >= 0 && x.rank() > 0)
      count = x.shape[static_cast<size_t>(c.axis("axis", static_cast<int64_t>(x.rank())))];
    for (const char* p : {scales, zeros})
      if (differ(ir::numel(c.tensor(p).shape), count))
        c.error(fmt::format("[fake_quantize.3] {} is {}", p, ir::str(Type(c.tensor(p)))));
  }
  Types t{x};
  if (c.op().schema.num_results == 2) t.push_back(TensorType{DType::b8, x.shape});
  return t;
}

Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b) {
  const ir::Op& op = n.op();
  const bool masks = op.schema.num_results == 2, keeps_nan = op.name.starts_with("quantized_decomposed");
  ir::Value* x = n.arg(input_of(op)).value();
  const DType t = x->tensor()->dtype;
  if (t != DType::f32) x = b("aten._to_copy", {x, DType::f32});
  ir::Arg scale = n.arg(scales_of(op)), zero = n.arg(zeros_of(op)), inverse;
  if (scale.value()) {
    // Broadcast over the other dims; one for all as a 0-dim tensor.
    std::vector<ir::Arg> shape;
    if (op.schema.index_of("axis") >= 0) {
      const int64_t axis = *n.arg("axis").i();
      const auto rank = static_cast<int64_t>(x->tensor()->rank());
      shape.assign(static_cast<size_t>(rank), int64_t{1});
      if (rank > 0) shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = int64_t{-1};
    }
    const auto floats = [&](ir::Value* v) {
      v = v->tensor()->dtype == DType::f32 ? v : b("aten._to_copy", {v, DType::f32});
      return b("aten.view", {v, ir::ArgList(shape)});
    };
    scale = floats(scale.value());
    zero = floats(zero.value());
    inverse = b("aten.reciprocal", {scale});
  } else {
    const double s = static_cast<float>(scale.f() ? *scale.f() : static_cast<double>(*scale.i()));
    scale = s;
    inverse = static_cast<double>(static_cast<float>(1.0 / s));
    zero = static_cast<double>(*zero.i());
  }
  const auto lo = static_cast<double>(*n.arg("quant_min").i()), hi = static_cast<double>(*n.arg("quant_max").i());
  ir::Value* y = b("aten.add.Tensor", {b("aten.round", {b("aten.mul.Tensor", {x, inverse})}), zero});
  ir::Value *above = b("aten.ge.Scalar", {y, lo}), *q = y;
  if (!keeps_nan) q = b("aten.where.self", {above, y, b.scalar(DType::f32, lo)});
  q = b("aten.clamp", {q, lo, hi});
  q = b("aten.mul.Tensor", {b("aten.sub.Tensor", {q, zero}), scale});
  if (t != DType::f32) q = b("aten._to_copy", {q, t});
  if (op.schema.index_of("fake_quant_enabled") >= 0)
    q = b("aten.where.self",
          {b("aten.ne.Scalar", {b("aten.view", {n.arg("fake_quant_enabled"), ir::ArgList{}}), int64_t{0}}), q,
           n.arg("self").value()});
  std::vector<ir::Value*> out{q};
  if (masks) {
    ir::Value* mask = b("aten.logical_and", {above, b("aten.le.Scalar", {y, hi})});
    if (op.schema.index_of("fake_quant_enabled") >= 0)
      mask = b("aten.logical_or",
               {mask, b("aten.eq.Scalar", {b("aten.view", {n.arg("fake_quant_enabled"), ir::ArgList{}}), int64_t{0}})});
    out.push_back(mask);
  }
  return b.done(std::move(out));
}

}  // namespace

std::vector<OpDef> define_fake_quantize() {
  std::vector<OpDef> ops;
  for (const char* schema :
       {"aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) "
        "-> Tensor",
        "aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int "
        "quant_min, int quant_max) -> Tensor",
        "aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int "
        "quant_max) -> (Tensor output, Tensor mask)",
        "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
        "Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
        "aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, "
        "int quant_max) -> Tensor",
        "aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int "
        "quant_min, int quant_max) -> (Tensor output, Tensor mask)",
        "quantized_decomposed::fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int "
        "quant_min, int quant_max) -> Tensor"}) {
    OpDef d;
    d.schema_text = schema;
    d.infer = infer_types;
    d.decompose = decompose;
    ops.push_back(std::move(d));
  }
  return ops;
}

}  // namespace edgewright::ops
