// src/ops/gemm.h - matrix products in double for whole-tensor evaluation. Depends on base.
#pragma once

#include <cstdint>
#include <functional>

namespace edgewright::ops {

// Panel widths of the two packed operands: rows of A and columns of B that the inner kernel takes at once.
inline constexpr int64_t kGemmRows = 6, kGemmCols = 8;

// Writes elements [k0, k1) x [i0, i0 + count) of an operand to `to[(k - k0) * width + (i - i0)]`; width is kGemmRows for A (i is a
// row) and kGemmCols for B (i is a column). Places from `count` on are zeroed by the caller.
using GemmPack = std::function<void(int64_t k0, int64_t k1, int64_t i0, int64_t count, double* to)>;
// Takes a finished tile of sums: rows [i0, i0 + rows), columns [j0, j0 + cols), at `sums[(i - i0) * stride + (j - j0)]`.
// Called from several threads, for disjoint tiles.
using GemmStore =
    std::function<void(int64_t i0, int64_t rows, int64_t j0, int64_t cols, const double* sums, int64_t stride)>;

// sums[i, j] = sum over k of A[i, k] * B[k, j], in double; the products of f32 operands are exact.
void gemm(int64_t m, int64_t n, int64_t k, const GemmPack& a, const GemmPack& b, const GemmStore& store);

// Packs a strided matrix (T float or double) whose element (i, k) is data[i * i_stride + k * k_stride].
template <class T>
GemmPack pack_strided(const T* data, int64_t i_stride, int64_t k_stride, int64_t width) {
  return [=](int64_t k0, int64_t k1, int64_t i0, int64_t count, double* to) {
    const T* from = data + i0 * i_stride;
    if (i_stride == 1)
      for (int64_t k = k0; k < k1; ++k, to += width)
        for (int64_t i = 0; i < count; ++i) to[i] = from[k * k_stride + i];
    else
      for (int64_t i = 0; i < count; ++i)
        for (int64_t k = k0; k < k1; ++k) to[(k - k0) * width + i] = from[i * i_stride + k * k_stride];
  };
}

}  // namespace edgewright::ops
