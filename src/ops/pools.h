// src/ops/pools.h - the extreme or the mean over windows of the spatial dims: sliding and adaptive pools of one to three dims,
// in both channel orders. Depends on ops/windows.h.
#pragma once

#include "ops/build.h"
#include "ops/windows.h"

namespace edgewright::ops {

// One spatial dim: which input coordinates each output reads, and what it counts for in a mean's divisor.
struct PoolAxis {
  int64_t in = 0;
  std::vector<std::vector<int64_t>> reads;
  std::vector<int64_t> counts;
  // Padding counts where `count_padding`, up to the padded end.
  static PoolAxis sliding(const WindowAxis& a, bool count_padding);
  // Output o of `out` reads [floor(o * in / out), ceil((o + 1) * in / out)).
  static PoolAxis adaptive(int64_t in, int64_t out);
};

// A pool of operand 0. The spatial dims stand at [first, first + axes.size()).
struct Pool {
  std::vector<PoolAxis> axes;
  size_t first = 0;
  std::optional<int64_t> divisor;  // of a mean, instead of the count
  double min = -INFINITY, max = INFINITY;
};
Point max_pool_point(DType t, const Pool& p);
Point max_pool_index_point(
    DType t, const Pool& p);  // flat position in the spatial dims; the last NaN, otherwise the first largest
Point avg_pool_point(DType t, const Pool& p);
// `indices` may be null.
void max_pool_whole(const Pool& p, const ir::Tensor& in, ir::Tensor& out, ir::Tensor* indices);
void avg_pool_whole(const Pool& p, const ir::Tensor& in, ir::Tensor& out);

// kernel_size, stride (the kernel's where empty), padding, dilation (where the schema has it) and ceil_mode of a pool over the
// last `spatial` dims of "self". Records errors.
struct PoolArgs {
  std::vector<int64_t> kernel, stride, padding, dilation;
  bool ceil_mode = false;
};
PoolArgs pool_args(const Call& c, size_t spatial);
// The shape that it gives; records errors.
Shape pool_shape(const Call& c, const PoolArgs& a);
Pool sliding_pool(const Call& c, const PoolArgs& a, bool count_padding);

// "output_size" over the last dims.
Shape adaptive_shape(const Call& c, size_t spatial);
Pool adaptive_pool(const Call& c, size_t spatial);
// Each axis in turn as slices folded by `fold` ("aten.amax", "aten.mean.dim") and concatenated; null where sizes are unknown
// or there are too many windows.
ir::Value* adaptive_by_slices(Builder& b, ir::Value* x, const std::vector<int64_t>& out, const char* fold);
// Window = stride = in / out for each of the last dims, where that divides.
std::optional<std::vector<int64_t>> even_windows(const Shape& in, const std::vector<int64_t>& out);

}  // namespace edgewright::ops
