// src/ops/xnn_window.h - the arguments that the sliding-window nodes of XNNPACK share, in our own ops for them (xnn.conv2d,
// xnn.max_pool2d, ...): NHWC, padding as [top, left, bottom, right]. Depends on ops/windows.h, ops/xnn_emitter.h.
#pragma once

#include "ops/windows.h"
#include "ops/xnn_emitter.h"

namespace edgewright::ops {

// min and max of a node that clamps its result. Records an error for NaN or min > max.
inline Clamp clamp_of(const Call& c) {
  const double lo = c.f("min"), hi = c.f("max");
  if (!(lo <= hi)) c.error(fmt::format("[xnn.1] bounds {} and {}", lo, hi));
  return {static_cast<float>(lo), static_cast<float>(hi)};
}

// Reads stride, padding (4), dilation and output_padding where the schema has them. Records errors.
inline Window window_of(const Call& c, int64_t kernel_h, int64_t kernel_w) {
  Window w;
  const auto has = [&](const char* p) { return c.op().schema.index_of(p) >= 0; };
  const auto number = [&](int64_t v, int64_t least) -> uint32_t {
    if (v < least || v > (1 << 20)) {
      c.error(fmt::format("[xnn.2] a window parameter is {}", v));
      return 1;
    }
    return static_cast<uint32_t>(v);
  };
  const auto two = [&](const char* p, int64_t least, std::array<uint32_t, 2>& to) {
    if (!has(p)) return;
    const std::vector<int64_t> v = spatial_ints(c, p, 2);
    to = {number(v[0], least), number(v[1], least)};
  };
  w.kernel = {number(kernel_h, 1), number(kernel_w, 1)};
  two("stride", 1, w.stride);
  two("dilation", 1, w.dilation);
  two("output_padding", 0, w.output_padding);
  const std::vector<int64_t> p = spatial_ints(c, "padding", 4);
  w.pad_top = number(p[0], 0), w.pad_left = number(p[1], 0), w.pad_bottom = number(p[2], 0),
  w.pad_right = number(p[3], 0);
  return w;
}

// Height and width of the result.
inline std::array<Dim, 2> window_result(const Call& c, const Window& w, const Dim& h, const Dim& wd, bool transposed) {
  const std::array<Dim, 2> in{h, wd};
  const std::array<int64_t, 2> before{w.pad_top, w.pad_left}, after{w.pad_bottom, w.pad_right};
  std::array<Dim, 2> out;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t kernel = w.kernel[d], stride = w.stride[d], dilation = w.dilation[d];
    out[d] = transposed ? (in[d] - Dim(1)) * Dim(stride) +
                              Dim(dilation * (kernel - 1) + 1 + w.output_padding[d] - before[d] - after[d])
                        : window_output(in[d], kernel, stride, before[d], after[d], dilation);
    if (out[d].is_constant() && out[d].value() < 1) c.error("[xnn.3] the window is larger than the padded input");
  }
  return out;
}
inline std::vector<WindowAxis> window_axes(const Window& w, const Shape& in, const std::array<Dim, 2>& out,
                                           bool transposed) {
  const std::array<int64_t, 2> before{w.pad_top, w.pad_left};
  std::vector<WindowAxis> axes;
  for (size_t d = 0; d < 2; ++d)
    axes.push_back({in[1 + d].value(), out[d].value(), w.kernel[d], w.stride[d], before[d], w.dilation[d], transposed});
  return axes;
}

}  // namespace edgewright::ops
