#include "lower/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace edgewright::lower {

MemoryPlan plan_memory(const std::vector<Lifetime>& values) {
  const auto aligned = [](uint64_t n) { return (n + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; };
  MemoryPlan plan;
  plan.offsets.assign(values.size(), 0);
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a].bytes > values[b].bytes; });
  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    const Lifetime& v = values[i];
    const uint64_t need = aligned(std::max<uint64_t>(v.bytes, 1));
    uint64_t end = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
    for (size_t j : placed) {
      if (values[j].first > v.last || v.first > values[j].last) continue;
      const uint64_t at = plan.offsets[j];
      if (at >= end + need && at - end < best_gap) {
        best_gap = at - end;
        best = end;
      }
      end = std::max(end, at + aligned(std::max<uint64_t>(values[j].bytes, 1)));
    }
    plan.offsets[i] = best == UINT64_MAX ? end : best;
    plan.bytes = std::max(plan.bytes, plan.offsets[i] + need);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
                  i);
  }
  return plan;
}

}  // namespace edgewright::lower
