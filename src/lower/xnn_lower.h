// src/lower/xnn_lower.h - the body of a delegate -> an XNNPACK payload graph. Depends on ops, partition, format.
#pragma once

#include <memory>
#include <vector>

#include "format/xnn_payload.h"
#include "ir/graph.h"

namespace edgewright::lower {

// The payload graph of a delegate body. Its constants borrow bytes of the body's constants or of `owned` (weights that were not
// contiguous, values made on the way): both must outlive the payload's writing.
struct LoweredDelegate {
  xnn::Graph graph;
  // Constants that the delegate gets as inputs, after the body's own: the stock backend lets go of the payload once weights are
  // packed, so only what XNNPACK packs (weights and biases of matrix products) may stand inside.
  std::vector<ir::Tensor> constant_inputs;
  std::vector<ir::Tensor> owned;
};

// Lowers a body whose nodes XNNPACK takes (ops::xnn_takes). External ids: inputs in order, constant_inputs, then outputs.
// Symbolic sizes stand in the payload as they are when every symbol has its greatest value, so that they agree with each other; a runtime
// reshapes the graph to the inputs it is given. Errors: kInternal where a node is refused after all.
Result<LoweredDelegate> lower_delegate(const ir::Graph& body, const ir::SymbolRanges& ranges);

}  // namespace edgewright::lower
