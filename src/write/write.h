// src/write/write.h - a partitioned program -> the bytes of a .pte. Depends on lower, format.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "format/pieces.h"
#include "ir/graph.h"
#include "lower/xnn_lower.h"

namespace edgewright::write {

// The file as pieces; they point into the programs' constants and into `delegates`, so keep both until it is written.
struct Written {
  Pieces file;
  std::vector<lower::LoweredDelegate> delegates;
  std::vector<ir::Tensor> owned;               // constants that had to be copied to become contiguous
  size_t weight_bytes = 0;                     // constants, each counted once
  size_t arena_bytes = 0;                      // the largest planned arena of a method
  std::vector<std::string> needs_own_runtime;  // why the stock runtime cannot load it; empty: it can
};

// Writes methods of one file; delegates are xnn.delegate nodes. Equal constants are stored once. Buffers of one name, type and initial
// value are shared by the methods that have them. Where there are several methods, states lie in an arena of their own (memory 2). Inputs are not planned (the
// caller's memory is used); results are. Every node outside a delegate becomes a kernel call under the stock operator's name.
// Errors: kUnsupported where no kernel exists for a node, or a size has no upper bound; kInternal otherwise.
// `custom_ops` ("mylib.op") have no definition here: they become calls of "mylib::op.out", with the node's arguments and then its results.
Result<Written> write_programs(const std::vector<ir::Program>& programs, const std::set<std::string>& custom_ops = {});

}  // namespace edgewright::write
