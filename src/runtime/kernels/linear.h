// src/runtime/kernels/linear.h - the f32 matrix product that matrix kernels and convolutions share.
#pragma once

#include "runtime/kernels/common.h"

namespace edgewright::runtime {

struct MatrixF32 {
  const float* data;
  int64_t row, col;  // strides in elements
};

// out[m x n] += a[m x k] * b[k x n]; out's columns are dense, its rows ldo apart. On the pool where it pays. No allocation.
void gemm_f32(pthreadpool* pool, const MatrixF32& a, const MatrixF32& b, float* out, int64_t ldo, int64_t m, int64_t n,
              int64_t k);

}  // namespace edgewright::runtime
