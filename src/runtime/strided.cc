#include "runtime/strided.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "runtime/value.h"

namespace edgewright::runtime {
namespace {

struct Dim {
  int64_t size, dst, src;
};

template <class T>
void run(std::byte* dst, const std::byte* src, const Dim& d) {
  T* to = reinterpret_cast<T*>(dst);
  const T* from = reinterpret_cast<const T*>(src);
  if (d.dst == 1 && d.src == 1) {
    std::memmove(to, from, static_cast<size_t>(d.size) * sizeof(T));  // a file may plan both sides over each other
  } else {
    for (int64_t i = 0; i < d.size; ++i) to[i * d.dst] = from[i * d.src];
  }
}

// Two dims, walked in tiles so that both sides stay in cache when one's fast dim is the other's slow one.
template <class T>
void plane(std::byte* dst, const std::byte* src, const Dim& outer, const Dim& inner) {
  constexpr int64_t kTile = 16;
  if (outer.src != 1 || inner.src == 1) {
    for (int64_t i = 0; i < outer.size; ++i)
      run<T>(dst + i * outer.dst * static_cast<int64_t>(sizeof(T)),
             src + i * outer.src * static_cast<int64_t>(sizeof(T)), inner);
    return;
  }
  T* to = reinterpret_cast<T*>(dst);
  const T* from = reinterpret_cast<const T*>(src);
  for (int64_t i0 = 0; i0 < outer.size; i0 += kTile)
    for (int64_t j0 = 0; j0 < inner.size; j0 += kTile)
      for (int64_t i = i0; i < std::min(i0 + kTile, outer.size); ++i)
        for (int64_t j = j0; j < std::min(j0 + kTile, inner.size); ++j)
          to[i * outer.dst + j * inner.dst] = from[i * outer.src + j * inner.src];
}

struct Item16 {
  uint64_t a, b;
};

}  // namespace

void copy_strided(std::byte* dst, const int64_t* dst_strides, const std::byte* src, const int64_t* src_strides,
                  std::span<const int64_t> sizes, size_t item) {
  // Drop dims of one element, sort by the destination's stride, join neighbours that are contiguous on both sides.
  std::array<Dim, kMaxRank + 2> dims{};
  size_t n = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return;
    if (sizes[i] == 1) continue;
    const Dim d{sizes[i], dst_strides[i], src_strides[i]};
    size_t at = n++;
    for (; at > 0 && std::abs(dims[at - 1].dst) < std::abs(d.dst); --at) dims[at] = dims[at - 1];
    dims[at] = d;
  }
  size_t m = 0;
  for (size_t i = 0; i < n; ++i) {
    if (m > 0 && dims[m - 1].dst == dims[i].dst * dims[i].size && dims[m - 1].src == dims[i].src * dims[i].size)
      dims[m - 1] = {dims[m - 1].size * dims[i].size, dims[i].dst, dims[i].src};
    else
      dims[m++] = dims[i];
  }
  while (m < 2) {  // so that there always is a plane
    for (size_t i = m; i > 0; --i) dims[i] = dims[i - 1];
    dims[0] = {1, 0, 0};
    ++m;
    if (m == 1) dims[0] = {1, 1, 1};
  }
  const Dim outer = dims[m - 2], inner = dims[m - 1];
  std::array<int64_t, kMaxRank> index{};
  const auto bytes = static_cast<int64_t>(item);
  while (true) {
    switch (item) {
      case 1: plane<uint8_t>(dst, src, outer, inner); break;
      case 2: plane<uint16_t>(dst, src, outer, inner); break;
      case 4: plane<uint32_t>(dst, src, outer, inner); break;
      case 8: plane<uint64_t>(dst, src, outer, inner); break;
      default: plane<Item16>(dst, src, outer, inner); break;
    }
    size_t d = m - 2;
    while (d-- > 0) {
      dst += dims[d].dst * bytes;
      src += dims[d].src * bytes;
      if (++index[d] < dims[d].size) break;
      dst -= dims[d].dst * bytes * dims[d].size;
      src -= dims[d].src * bytes * dims[d].size;
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

}  // namespace edgewright::runtime
