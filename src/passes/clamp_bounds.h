// src/passes/clamp_bounds.h - what aten.relu, relu6, hardtanh and clamp clamp to. Depends on passes.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "passes/pass_def.h"

namespace edgewright::passes {

inline constexpr std::array kClamps{"aten.relu", "aten.relu6", "aten.hardtanh", "aten.clamp"};
inline bool is_clamp(const Node& n) {
  for (const char* name : kClamps)
    if (n.is(name)) return true;
  return false;
}
// Bounds of such a node in f32, as PyTorch rounds them; nullopt where they are not constants or NaN. Defined in fuse_clamp.cc.
std::optional<std::pair<double, double>> clamp_bounds(const Node& n);

}  // namespace edgewright::passes
