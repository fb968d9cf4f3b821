// src/base/checked.h - arithmetic that reports overflow instead of wrapping. Depends on nothing of ours.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace edgewright {

inline std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
inline std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
}
// Product of sizes; nullopt if a size is negative or the product overflows. The empty product is 1.
inline std::optional<int64_t> checked_numel(std::span<const int64_t> sizes) {
  int64_t n = 1;
  bool zero = false;
  for (int64_t s : sizes) {
    if (s < 0) return std::nullopt;
    zero |= s == 0;
    if (s != 0 && __builtin_mul_overflow(n, s, &n)) return std::nullopt;
  }
  return zero ? 0 : n;
}

}  // namespace edgewright
