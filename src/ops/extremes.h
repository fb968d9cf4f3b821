// src/ops/extremes.h - the largest or smallest of a run of numbers as PyTorch chooses it: the first NaN if there is one,
// otherwise the first of the best. Shared by max, amax, argmax and max pools. Depends on base.
#pragma once

#include <cstddef>
#include <span>

#include "ops/bounded.h"

namespace edgewright::ops {

// True where `x` takes the place of the best so far.
template <class R>
bool beats(const R& x, const R& best, bool largest) {
  using num::value;
  if constexpr (std::is_same_v<R, int64_t>)
    return largest ? x > best : x < best;
  else {
    const double a = value(x), b = value(best);
    if (b != b) return false;
    return a != a || (largest ? a > b : a < b);
  }
}
// Position of the extreme; `x` is not empty.
template <class R>
size_t extreme_at(std::span<const R> x, bool largest) {
  size_t best = 0;
  for (size_t i = 1; i < x.size(); ++i)
    if (beats(x[i], x[best], largest)) best = i;
  return best;
}
// The extreme itself; for Bounded its error covers every candidate.
template <class R>
R extreme(std::span<const R> x, bool largest) {
  R best = x[0];
  for (size_t i = 1; i < x.size(); ++i) {
    if constexpr (std::is_same_v<R, int64_t>)
      best = largest ? std::max(best, x[i]) : std::min(best, x[i]);
    else
      best = largest ? num::maximum(best, x[i]) : num::minimum(best, x[i]);
  }
  return best;
}

}  // namespace edgewright::ops
