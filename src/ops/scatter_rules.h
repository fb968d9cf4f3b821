// src/ops/scatter_rules.h - writes along a dim at places that an index tensor names: scatter and index_{copy,add,fill} are one
// engine with other parts. Depends on ops/pick_rules.h.
#pragma once

#include "ops/families.h"
#include "ops/pick_rules.h"

namespace edgewright::ops {

enum class Combine : uint8_t { kAssign, kSum, kProd, kMean, kMax, kMin };

// self[.., index, ..] = combine(self[.., index, ..], source)
struct Scatter {
  Combine combine = Combine::kAssign;
  bool include_self = true;    // false: the first source replaces self's element (which stays where nothing is written)
  std::string source = "src";  // parameter: a tensor or a number
  std::string alpha;           // number that source is multiplied by; empty for none
  bool index_is_1d = false;    // index_*: index counts along dim only; scatter: index has a place for each element
  bool negative = false;       // indices may count from the end
};
// The schema's parameters are self, dim, index and those named above. `parts` reads modes from the call.
OpDef scattering(std::string schema, std::function<Scatter(const Call&)> parts, std::string stock = "");

}  // namespace edgewright::ops
