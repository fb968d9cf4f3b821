// src/ops/xnn_sums.h - sums and means over any dims in XNNPACK: shared by sum, mean, var, std. Depends on ops/trailing.h.
#pragma once

#include <algorithm>

#include "ops/trailing.h"

namespace edgewright::ops {

// out = the sum or mean of x over `axes`; `out` has as many elements as there are groups, in any shape. Over trailing dims it is
// a product with a column; over dims between others, a pooling; over dims apart, the kept ones are moved to the front first.
inline Result<void> sum_over(XnnEmitter& e, const ir::Value* x, const ir::Value* out, std::vector<int64_t> axes,
                             bool is_mean) {
  const Shape& s = x->tensor()->shape;
  std::sort(axes.begin(), axes.end());
  const auto first = static_cast<size_t>(axes.empty() ? 0 : axes.front());
  const auto end = static_cast<size_t>(axes.empty() ? -1 : axes.back()) + 1;
  const bool together = end - first == axes.size();
  if (together && end < s.size() && !axes.empty()) return pool_dims(e, x, out, first, axes.size(), is_mean);
  if (!together) {
    std::vector<int64_t> order;
    for (int64_t d = 0; d < static_cast<int64_t>(s.size()); ++d)
      if (!std::binary_search(axes.begin(), axes.end(), d)) order.push_back(d);
    const size_t kept = order.size();
    order.insert(order.end(), axes.begin(), axes.end());
    Shape moved;
    for (int64_t d : order) moved.push_back(s[static_cast<size_t>(d)]);
    const ir::Value* y = e.temporary({DType::f32, moved});
    EW_TRY(e.static_transpose(x, y, order));
    x = y;
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(kept + i);
  }
  EW_ASSIGN(const Trailing t, trailing_of(x->tensor()->shape, axes));
  return sum_trailing(e, x, out, t, is_mean);
}

}  // namespace edgewright::ops
