// src/ops/quantize_per_channel_group.cc - the rows of a matrix in groups of equal size, each with a scale and zero point of its
// own; and back. The zero point is added before rounding. PyTorch refuses NaN; here it is cast. Depends on ops/plain_blocks.h.
#include "ops/dense.h"
#include "ops/plain_blocks.h"

namespace edgewright::ops {
namespace {

// A group wider than the row is the row, where there is one scale a row.
int64_t group_size(const Call& c) {
  const TensorType& x = c.type(0);
  const int64_t g = c.i("group_size");
  if (x.rank() == 0) return g;
  const Shape& s = c.tensor("scales").shape;
  const auto width = x.shape.back().maybe();
  return width && g > *width && !s.empty() && s.back() == Dim(1) ? *width : g;
}
// [quantize.8] A matrix; group_size above 1 and a divisor of the row's length; a scale and zero point for each group.
void check_groups(const Call& c) {
  const TensorType& x = c.type(0);
  if (x.rank() != 2) return c.error(fmt::format("[quantize.8] input has {} dims, not 2", x.rank()));
  if (c.i("group_size") <= 1) return c.error(fmt::format("[quantize.8] group_size {}", c.i("group_size")));
  const int64_t g = group_size(c);
  const auto width = x.shape[1].maybe();
  if (!width) return;
  if (*width == 0 || *width % g != 0)
    return c.error(fmt::format("[quantize.8] groups of {} in a row of {}", g, *width));
  for (std::string_view p : {"scales", "zero_points"})
    if (c.has(p) && differ(ir::numel(c.tensor(p).shape), x.shape[0] * Dim(*width / g)))
      c.error(fmt::format("[quantize.8] {} is {} for groups of {} in {}", p, ir::str(Type(c.tensor(p))), g,
                          ir::str(Type(x))));
}
ParamBlocks group_blocks(const Call& c) {
  const std::array<int64_t, 2> block{1, group_size(c)};
  return ParamBlocks::blocks(ir::static_sizes(c.type(0).shape), block);
}

Result<Types> infer_quantize(const Call& c) {
  const DType t = c.dtype("dtype").value_or(DType::i8);
  check_quantizable(c, "input");
  if (!quantized_range(t)) c.error(fmt::format("[quantize.2] {} holds no quantized values here", name(t)));
  check_groups(c);
  return Types{TensorType{t, c.type(0).shape}};
}
Quantizing quantize(const Call& c) { return quantizing_by_lists(c, group_blocks(c), c.type(0).dtype, true); }
Result<Types> infer_dequantize(const Call& c) {
  check_groups(c);
  return dequantized_type(c, "output_dtype");
}
Dequantizing dequantize(const Call& c) { return dequantizing_by_lists(c, group_blocks(c), "output_dtype"); }

Result<std::vector<ir::Value*>> plain_quantize(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  return plain_quantizing(n, b, {1, group_size(c)},
                          {.lo = c.f("quant_min"), .hi = c.f("quant_max"), .adds_before_rounding = true});
}
Result<std::vector<ir::Value*>> plain_dequantize(const ir::Node& n, Builder& b) {
  return plain_dequantizing(n, b, {1, group_size(Call::of(n))}, {});
}

}  // namespace

std::vector<OpDef> define_quantize_per_channel_group() {
  return {with_decompose(
              quantizing_op("quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor scales, Tensor "
                            "zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size) -> Tensor",
                            infer_quantize, quantize, "quantized_decomposed::quantize_per_channel_group.out"),
              plain_quantize),
          with_decompose(
              dequantizing_op("quantized_decomposed::dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? "
                              "zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size, ScalarType "
                              "output_dtype) -> Tensor",
                              infer_dequantize, dequantize, "quantized_decomposed::dequantize_per_channel_group.out"),
              plain_dequantize)};
}

}  // namespace edgewright::ops
