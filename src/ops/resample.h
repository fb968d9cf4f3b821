// src/ops/resample.h - resizing an axis as a weighted sum of input elements: nearest, linear, cubic, antialiased.
// Depends on ops/dense.h.
#pragma once

#include "ops/build.h"
#include "ops/dense.h"

namespace edgewright::ops {

// One input element that an output element takes, and how much of it.
struct Tap {
  int64_t index = 0;
  double weight = 1;
};
// Taps of each output of an axis.
using AxisTaps = std::vector<std::vector<Tap>>;

enum class Interpolation : uint8_t { kNearest, kNearestExact, kLinear, kCubic, kLinearAntialiased };
// PyTorch's rules. `scale`: the scale factor that the caller gave, used in place of in / out. Positions are computed in float
// as PyTorch does it for f32 (in double where `in_double`); with `half_pixel` false and align_corners false: src = dst * in / out (XNNPACK).
AxisTaps axis_taps(Interpolation how, int64_t in, int64_t out, bool align_corners, std::optional<double> scale,
                   bool in_double, bool half_pixel = true);

// A resize of operand 0: dims [first, first + axes.size()).
struct Resample {
  size_t first = 0;
  std::vector<AxisTaps> axes;
};
Point resample_point(const Resample& r);
void resample_whole(const Resample& r, const ir::Tensor& in, ir::Tensor& out);

}  // namespace edgewright::ops
