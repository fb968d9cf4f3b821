// src/ops/quantize_per_tensor.cc - floats to ints with one scale and zero point for all elements. Depends on ops/quantization.h.
//
// quantized = clamp(round(input * (1 / scale)) + zero_point, quant_min, quant_max) in f32. A scale of 0, which PyTorch refuses to
// divide by, has the inverse infinity here.
#include "ops/quantization.h"
#include "ops/xnn_quant.h"

namespace edgewright::ops {
namespace {

Result<Types> infer_types(const Call& c) {
  const DType t = c.dtype("dtype").value_or(DType::i8);
  check_quantizable(c, "input");
  check_quantized(c, t);
  if (!c.number_kind("scale")) check_one_element(c, {"scale", "zero_point"});
  if (!c.number_kind("quant_min")) check_one_element(c, {"quant_min", "quant_max"});
  return Types{TensorType{t, c.type(0).shape}};
}
Quantizing resolve(const Call& c) {
  return {.blocks = ParamBlocks::one(ir::static_sizes(c.type(0).shape)),
          .scale = QuantParam::of(c, "scale"),
          .zero_point = QuantParam::of(c, "zero_point"),
          .lo = QuantParam::of(c, "quant_min"),
          .hi = QuantParam::of(c, "quant_max"),
          .out = c.dtype("dtype").value_or(DType::i8)};
}

// Bounds that are tensors become ints.
Result<std::vector<ir::Value*>> with_int_bounds(const ir::Node& n, Builder& b) {
  const auto lo = constant_number(n, "quant_min"), hi = constant_number(n, "quant_max");
  if (!lo || !hi) return std::vector<ir::Value*>{};
  return b.done({b("quantized_decomposed.quantize_per_tensor.tensor",
                   {n.arg("input"), n.arg("scale"), n.arg("zero_point"), static_cast<int64_t>(*lo),
                    static_cast<int64_t>(*hi), n.arg("dtype")})});
}

}  // namespace

std::vector<OpDef> define_quantize_per_tensor() {
  return {with_lower(
              quantizing_op("quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int "
                            "quant_min, int quant_max, ScalarType dtype) -> Tensor",
                            infer_types, resolve, "quantized_decomposed::quantize_per_tensor.out"),
              lower_conversion, Agreement::kQuantized),
          quantizing_op("quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor "
                        "zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
                        infer_types, resolve, "quantized_decomposed::quantize_per_tensor.Tensor_out"),
          with_decompose(
              quantizing_op("quantized_decomposed::quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor "
                            "zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor",
                            infer_types, resolve),
              with_int_bounds)};
}

}  // namespace edgewright::ops
