#include "ops/gemm.h"

#include <cstring>
#include <vector>

#include "base/parallel.h"

namespace edgewright::ops {
namespace {

typedef double Lane __attribute__((vector_size(8 * kGemmCols), aligned(8)));

// One kGemmRows x kGemmCols block of sums, increased by the products of two packed panels.
EW_VECTOR_CLONES void block(int64_t k, const double* a, const double* b, double* sums, int64_t stride) {
  Lane c0{}, c1{}, c2{}, c3{}, c4{}, c5{};
  for (int64_t i = 0; i < k; ++i, a += kGemmRows, b += kGemmCols) {
    const Lane y = *reinterpret_cast<const Lane*>(b);
    c0 += y * a[0];
    c1 += y * a[1];
    c2 += y * a[2];
    c3 += y * a[3];
    c4 += y * a[4];
    c5 += y * a[5];
  }
  const auto add = [&](int row, const Lane& c) __attribute__((always_inline)) {
    for (int64_t j = 0; j < kGemmCols; ++j) sums[row * stride + j] += c[j];
  };
  add(0, c0), add(1, c1), add(2, c2), add(3, c3), add(4, c4), add(5, c5);
}

constexpr int64_t kDepth = 256;                // k at a time
constexpr int64_t kTileRows = 32 * kGemmRows;  // A's packed part, 384 KiB, stays in the second-level cache
constexpr int64_t kTileCols = 32 * kGemmCols;

int64_t round_up(int64_t x, int64_t to) { return (x + to - 1) / to * to; }

// Packs [i0, i0 + count) in panels of `width`, each k1 - k0 deep.
void pack(const GemmPack& p, int64_t width, int64_t k0, int64_t k1, int64_t i0, int64_t count, double* to) {
  for (int64_t i = 0; i < count; i += width, to += width * (k1 - k0)) {
    const int64_t some = std::min(width, count - i);
    if (some < width) std::memset(to, 0, static_cast<size_t>(width * (k1 - k0)) * sizeof(double));
    p(k0, k1, i0 + i, some, to);
  }
}

}  // namespace

void gemm(int64_t m, int64_t n, int64_t k, const GemmPack& a, const GemmPack& b, const GemmStore& store) {
  if (m <= 0 || n <= 0) return;
  const int64_t rows = std::min(kTileRows, round_up(m, kGemmRows)), cols = std::min(kTileCols, round_up(n, kGemmCols));
  const int64_t down = (m + rows - 1) / rows, across = (n + cols - 1) / cols;
  const auto tiles = [&](int64_t begin, int64_t end) {
    const int64_t depth = std::min(kDepth, std::max<int64_t>(k, 1));
    std::vector<double> pa(static_cast<size_t>(rows * depth)), pb(static_cast<size_t>(cols * depth)),
        sums(static_cast<size_t>(rows * cols));
    for (int64_t t = begin; t < end; ++t) {
      const int64_t i0 = t / across * rows, j0 = t % across * cols;
      const int64_t mi = std::min(rows, m - i0), nj = std::min(cols, n - j0);
      std::fill(sums.begin(), sums.end(), 0.0);
      for (int64_t k0 = 0; k0 < k; k0 += depth) {
        const int64_t k1 = std::min(k, k0 + depth);
        pack(a, kGemmRows, k0, k1, i0, mi, pa.data());
        pack(b, kGemmCols, k0, k1, j0, nj, pb.data());
        for (int64_t j = 0; j < nj; j += kGemmCols)
          for (int64_t i = 0; i < mi; i += kGemmRows)
            block(k1 - k0, &pa[static_cast<size_t>(i * (k1 - k0))], &pb[static_cast<size_t>(j * (k1 - k0))],
                  &sums[static_cast<size_t>(i * cols + j)], cols);
      }
      store(i0, mi, j0, nj, sums.data(), cols);
    }
  };
  // Small products are not worth a thread.
  const bool small = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) < 1e6;
  parallel_for(down * across, small ? down * across : 1, tiles);
}

}  // namespace edgewright::ops
