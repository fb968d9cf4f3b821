// src/ops/dequantize_per_channel.cc - (input - zero_point) * scale with one of each per index of one dim; no zero points are
// zeros. Depends on ops/plain_blocks.h.
#include "ops/plain_blocks.h"

namespace edgewright::ops {
namespace {

Result<Types> infer_types(const Call& c) {
  check_quantized_input(c, "input", "dtype");
  check_quantized(c, c.type(0).dtype);
  check_per_channel(c);
  const DType out = c.dtype("out_dtype").value_or(DType::f32);
  if (!is_float(out)) c.error(fmt::format("[dequantize.2] out_dtype is {}", name(out)));
  return Types{TensorType{out, c.type(0).shape}};
}
Dequantizing resolve(const Call& c) { return dequantizing_by_lists(c, per_channel_blocks(c), "out_dtype"); }

Result<std::vector<ir::Value*>> plain(const ir::Node& n, Builder& b) {
  return plain_dequantizing(n, b, channel_block(Call::of(n)), {});
}

}  // namespace

std::vector<OpDef> define_dequantize_per_channel() {
  return {with_decompose(
      dequantizing_op("quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? "
                      "zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? "
                      "out_dtype=None) -> Tensor",
                      infer_types, resolve, "quantized_decomposed::dequantize_per_channel.out"),
      plain)};
}

}  // namespace edgewright::ops
