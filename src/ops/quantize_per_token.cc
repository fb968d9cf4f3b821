// src/ops/quantize_per_token.cc - each row with a scale and zero point of its own: clamp(round(input * (1 / scale) + zero_point)),
// the zero point being added before rounding; and back. Depends on ops/quantization.h.
#include "ops/dense.h"
#include "ops/quantization.h"

namespace edgewright::ops {
namespace {

// [quantize.7] As many scales and zero points as rows, of a shape that broadcasts against the input.
void check_rows(const Call& c) {
  const TensorType& x = c.type(0);
  Dim rows(1);
  for (size_t d = 0; d + 1 < x.rank(); ++d) rows = rows * x.shape[d];
  for (std::string_view p : {"scales", "zero_points"}) {
    const TensorType& t = c.tensor(p);
    if (differ(ir::numel(t.shape), rows))
      c.error(fmt::format("[quantize.7] {} is {}, the input has {} rows", p, ir::str(Type(t)), rows.str()));
    bool fits = t.rank() <= x.rank();
    for (size_t d = 0; fits && d < t.rank(); ++d) {
      const Dim& n = t.shape[t.rank() - 1 - d];
      fits = !differ(n, Dim(1)) || !differ(n, x.shape[x.rank() - 1 - d]);
    }
    if (!fits) c.error(fmt::format("[quantize.7] {} is {}, the input {}", p, ir::str(Type(t)), ir::str(Type(x))));
  }
  if (c.tensor("scales").shape.size() != c.tensor("zero_points").shape.size())
    c.error("[quantize.7] scales and zero_points differ in shape");
}
ParamBlocks row_blocks(const Call& c) {
  return ParamBlocks::broadcast(ir::static_sizes(c.type(0).shape), ir::static_sizes(c.tensor("scales").shape));
}

Result<Types> infer_quantize(const Call& c) {
  const DType t = c.dtype("dtype").value_or(DType::i8);
  check_quantizable(c, "input");
  check_quantized(c, t);
  check_rows(c);
  return Types{TensorType{t, c.type(0).shape}};
}
Quantizing quantize(const Call& c) { return quantizing_by_lists(c, row_blocks(c), c.type(0).dtype, true); }
Result<Types> infer_dequantize(const Call& c) {
  check_rows(c);
  return dequantized_type(c, "output_dtype");
}
Dequantizing dequantize(const Call& c) { return dequantizing_by_lists(c, row_blocks(c), "output_dtype"); }

}  // namespace

std::vector<OpDef> define_quantize_per_token() {
  return {quantizing_op("quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int "
                        "quant_min, int quant_max, ScalarType dtype) -> Tensor",
                        infer_quantize, quantize, "quantized_decomposed::quantize_per_token.out"),
          dequantizing_op("quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, "
                          "int quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor",
                          infer_dequantize, dequantize, "quantized_decomposed::dequantize_per_token.out")};
}

}  // namespace edgewright::ops
