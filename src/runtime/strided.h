// src/runtime/strided.h - moving elements between two layouts of one shape. Depends on nothing of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace edgewright::runtime {

// dst[i] = src[i] for every index i of `sizes` (at most kMaxRank); strides in elements, any sign, 0 to repeat.
// Neither side may overlap the other. `item` is 1, 2, 4, 8 or 16 bytes.
void copy_strided(std::byte* dst, const int64_t* dst_strides, const std::byte* src, const int64_t* src_strides,
                  std::span<const int64_t> sizes, size_t item);

}  // namespace edgewright::runtime
