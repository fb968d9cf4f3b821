// src/ops/masks.h - what attention masks hold. Depends on ops/dense.h.
#pragma once

#include <algorithm>

#include "ops/dense.h"

namespace edgewright::ops {

// True where the values are known and no row along the last dim is masked throughout: by -inf, or by false.
inline bool has_no_full_row(const ir::Value* mask) {
  if (!mask->is_constant() || mask->tensor()->rank() == 0) return false;
  const std::vector<double> m = to_doubles(*mask->data);
  const auto n = static_cast<size_t>(mask->data->sizes.back());
  const double masked = is_bool(mask->data->dtype) ? 0 : -INFINITY;
  for (size_t row = 0; n > 0 && row < m.size(); row += n)
    if (std::all_of(m.begin() + static_cast<ptrdiff_t>(row), m.begin() + static_cast<ptrdiff_t>(row + n),
                    [&](double v) { return v == masked; }))
      return false;
  return n > 0;
}

}  // namespace edgewright::ops
