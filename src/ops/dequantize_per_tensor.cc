// src/ops/dequantize_per_tensor.cc - (input - zero_point) * scale with one of each for all elements. Depends on ops/quantization.h.
//
// quant_min, quant_max are hints without meaning. The input is converted to out_dtype (f32) first, so that wide ints round there.
#include "ops/quantization.h"
#include "ops/xnn_quant.h"

namespace edgewright::ops {
namespace {

Result<Types> infer_types(const Call& c) {
  check_quantized_input(c, "input", "dtype");
  const DType out = c.dtype("out_dtype").value_or(DType::f32);
  if (!is_float(out)) c.error(fmt::format("[dequantize.2] out_dtype is {}", name(out)));
  if (!c.number_kind("scale")) check_one_element(c, {"scale", "zero_point"});
  return Types{TensorType{out, c.type(0).shape}};
}
Dequantizing resolve(const Call& c) {
  const DType out = c.dtype("out_dtype").value_or(DType::f32);
  return {.blocks = ParamBlocks::one(ir::static_sizes(c.type(0).shape)),
          .scale = QuantParam::of(c, "scale").as_scalar_for(out),
          .zero_point = QuantParam::of(c, "zero_point").as_scalar_for(out),
          .difference = out,
          .product = out,
          .out = out};
}

// Bounds that are tensors mean no more than ints do.
Result<std::vector<ir::Value*>> without_bounds(const ir::Node& n, Builder& b) {
  const auto range = quantized_range(n.arg("input").value()->tensor()->dtype);
  if (!range) return std::vector<ir::Value*>{};
  return b.done({b("quantized_decomposed.dequantize_per_tensor.tensor",
                   {n.arg("input"), n.arg("scale"), n.arg("zero_point"), range->first, range->second, n.arg("dtype"),
                    n.arg("out_dtype")})});
}

}  // namespace

std::vector<OpDef> define_dequantize_per_tensor() {
  return {with_lower(dequantizing_op(
                         "quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int "
                         "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
                         infer_types, resolve, "quantized_decomposed::dequantize_per_tensor.out"),
                     lower_conversion, Agreement::kQuantized),
          dequantizing_op("quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor "
                          "zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) "
                          "-> Tensor",
                          infer_types, resolve, "quantized_decomposed::dequantize_per_tensor.Tensor_out"),
          with_decompose(
              dequantizing_op("quantized_decomposed::dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor "
                              "zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? "
                              "out_dtype=None) -> Tensor",
                              infer_types, resolve),
              without_bounds)};
}

}  // namespace edgewright::ops
