// src/partition/partition.h - chooses the regions that XNNPACK gets and makes each a node of its own. Depends on ops.
#pragma once

#include "ops/build.h"

namespace edgewright::partition {

// Why a node stays outside.
struct Refusal {
  std::string node;  // first result's name
  std::string reason;
  std::string hint;  // what would make it delegable; may be empty
  const ir::Node* at = nullptr;
};

struct PartitionResult {
  int delegates = 0;
  std::vector<Refusal> refusals;
};

// Replaces each maximal convex region of nodes that XNNPACK takes by one xnn.delegate node whose body is the region; values
// that only the region uses (weights) become the body's own constants. What moves data only, with no computation beside it,
// stays outside: a delegate call costs more than it saves there.
// Graphs of control flow are partitioned each on its own. Errors: kInternal.
Result<PartitionResult> partition(ir::Graph& g);

}  // namespace edgewright::partition
