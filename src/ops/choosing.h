// src/ops/choosing.h - ops that choose scales and zero points from the smallest and largest element of each block. Depends on
// ops/quantization.h.
#pragma once

#include "ops/quantization.h"

namespace edgewright::ops {

// Elements of `sizes` in blocks; one scale and zero point per block, in row-major order.
struct Choosing {
  ParamBlocks blocks;
  struct Chosen {
    double scale = 0, zero_point = 0;
  };
  // From the block's extremes; NaN if any element is. Exact in the dtypes of the results.
  std::function<Chosen(double lo, double hi)> choose;
  // What an error of the extremes makes of the scale: at most |d scale / d extreme| each.
  double slope = 0;
};
// Result 0 is the scales, result 1 the zero points.
OpDef choosing_op(std::string schema, std::function<Result<Types>(const Call&)> infer,
                  std::function<Choosing(const Call&)> resolve, std::string stock = "");

}  // namespace edgewright::ops
