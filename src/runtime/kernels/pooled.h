// src/runtime/kernels/pooled.h - how many windows a pool has along a dim. Depends on nothing.
#pragma once

#include <cstdint>

namespace edgewright::runtime {

// Greatest kernel, stride, padding and dilation: no product of them overflows.
inline constexpr int64_t kMostWindow = int64_t{1} << 30;

// PyTorch's rule; -1 where parameters are out of range or no window fits. With `ceil` a last window may reach over the end, but
// must begin inside or in the padding before.
inline int64_t pooled(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation, bool ceil) {
  for (int64_t v : {kernel, stride, dilation})
    if (v <= 0 || v > kMostWindow) return -1;
  if (pad < 0 || pad > kMostWindow || pad * 2 > kernel) return -1;
  const int64_t room = in + 2 * pad - dilation * (kernel - 1) - 1 + (ceil ? stride - 1 : 0);
  if (room < 0) return -1;
  int64_t out = room / stride + 1;
  if (ceil && (out - 1) * stride >= in + pad) --out;
  return out > 0 ? out : -1;
}

}  // namespace edgewright::runtime
