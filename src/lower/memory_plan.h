// src/lower/memory_plan.h - places values with known lifetimes into one arena. Depends on base.
#pragma once

#include <cstdint>
#include <vector>

namespace edgewright::lower {

// Needed from step `first` to step `last`, inclusive; bytes may be 0.
struct Lifetime {
  uint64_t bytes = 0;
  int64_t first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<uint64_t> offsets;  // parallel to the lifetimes; multiples of kArenaAlignment
  uint64_t bytes = 0;             // of the arena
};
inline constexpr uint64_t kArenaAlignment = 16;  // what the stock exporter plans with

// Greedy by size: the largest first, each at the lowest offset that no overlapping lifetime uses (best fit among the gaps).
MemoryPlan plan_memory(const std::vector<Lifetime>& values);

}  // namespace edgewright::lower
