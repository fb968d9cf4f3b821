// src/ops/quantize_per_channel.cc - floats to ints with a scale and zero point for each index of one dim. Depends on
// ops/plain_blocks.h.
#include "ops/plain_blocks.h"

namespace edgewright::ops {
namespace {

Result<Types> infer_types(const Call& c) {
  const DType t = c.dtype("dtype").value_or(DType::i8);
  check_quantizable(c, "input");
  check_quantized(c, t);
  check_per_channel(c);
  return Types{TensorType{t, c.type(0).shape}};
}
Quantizing resolve(const Call& c) { return quantizing_by_lists(c, per_channel_blocks(c), DType::f32, false); }

Result<std::vector<ir::Value*>> plain(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  return plain_quantizing(n, b, channel_block(c),
                          {.lo = c.f("quant_min"), .hi = c.f("quant_max"), .converts_input = true});
}

}  // namespace

std::vector<OpDef> define_quantize_per_channel() {
  return {with_decompose(
      quantizing_op("quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, "
                    "int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
                    infer_types, resolve, "quantized_decomposed::quantize_per_channel.out"),
      plain)};
}

}  // namespace edgewright::ops
