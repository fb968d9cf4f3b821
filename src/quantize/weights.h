// src/quantize/weights.h - integers and scales for constants and for ranges. Depends on ir.
#pragma once

#include <vector>

#include "ir/tensor.h"

namespace edgewright::quantize {

// The smallest scale: that of PyTorch's observers (f32's epsilon). So no scale is 0 or denormal, and a row of zeros has one.
inline constexpr float kSmallestScale = 0x1p-23F;

struct Quantized {
  ir::Tensor values;  // i8, of the weight's sizes
  ir::Tensor scales;  // f32
};

// Symmetric, one scale for each index of `axis`: largest magnitude / 127, values in [-127, 127]. What PyTorch's per-channel
// min-max observer chooses for i8 in these bounds. `w`: f32; its elements are finite.
Quantized by_channel(const ir::Tensor& w, int64_t axis);
// Symmetric in groups of `group` along the last dim of a matrix (which it divides), values in [-8, 7]; scales [rows, groups]. Of
// some scales from the largest magnitude / 7 down to three quarters of that, the one with the least square error. Scales are bf16
// numbers: XNNPACK keeps them so.
Quantized by_group(const ir::Tensor& w, int64_t group);

// Scale and zero point of i8 for values in [lo, hi] and 0, as PyTorch's min-max observer has them.
struct QParams {
  float scale = 1;
  int64_t zero_point = 0;
  bool operator==(const QParams&) const = default;
};
QParams of_range(float lo, float hi);

bool all_finite(const ir::Tensor& t);

}  // namespace edgewright::quantize
