// src/ops/windows.h - sliding windows over spatial dims: convolutions and pools, in both channel orders.
// Depends on ops/dense.h.
#pragma once

#include "ops/dense.h"

namespace edgewright::ops {

// One spatial dim of a window. Forward: output o and tap k read input o * stride - pad + k * dilation.
// Transposed: input i and tap k write output i * stride - pad + k * dilation.
struct WindowAxis {
  int64_t in = 0, out = 0, kernel = 1, stride = 1, pad = 0, dilation = 1;
  bool transposed = false;
  // The input coordinate that tap k of output o reads; -1 where there is none.
  int64_t source(int64_t o, int64_t k) const {
    if (!transposed) {
      const int64_t i = o * stride - pad + k * dilation;
      return i >= 0 && i < in ? i : -1;
    }
    const int64_t i = o + pad - k * dilation;
    return i >= 0 && i % stride == 0 && i / stride < in ? i / stride : -1;
  }
};

// Output size of a forward window with padding on both sides; with `ceil_mode` the last window may start inside the
// input or the leading padding, never after (PyTorch's rule).
Dim window_output(const Dim& in, const Dim& kernel, int64_t stride, int64_t pad_before, int64_t pad_after,
                  int64_t dilation, bool ceil_mode = false);

// A list argument with one entry per spatial dim; one entry stands for all. Records an error where the count is wrong.
std::vector<int64_t> spatial_ints(const Call& c, std::string_view param, size_t spatial);

// A convolution of concrete sizes.
struct Convolution {
  enum class Weight : uint8_t {
    kOutIn,         // [o, i/groups, k...]        aten.convolution
    kInOut,         // [i, o/groups, k...]        aten.convolution, transposed
    kOutSpatialIn,  // [o, k..., i/groups]        XNNPACK
    kSpatialOut,    // [1, k..., o]               XNNPACK, depthwise
  };
  std::vector<WindowAxis> axes;
  int64_t groups = 1, in_per_group = 1, out_per_group = 1;
  Weight weight_layout = Weight::kOutIn;
  bool channels_last = false;            // [n, s..., c] instead of [n, c, s...], of input and result
  bool batched = true;                   // false: without n
  int input = 0, weight = 1, bias = -1;  // operands
  double min = -INFINITY, max = INFINITY;
};
Point convolution_point(DType t, const Convolution& c);
void convolution_whole(const Convolution& c, std::span<const ir::Tensor> in, ir::Tensor& out);

}  // namespace edgewright::ops
