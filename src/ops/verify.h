// src/ops/verify.h - checks a graph against the definitions of its ops; reads text with them. Depends on ops and ir.
#pragma once

#include "ir/text.h"
#include "ops/op_def.h"

namespace edgewright::ops {

// ir::verify_structure, then each node's result types against its op's rule, subgraphs included. Sizes that are symbolic may
// differ in form. Unknown ops are taken as they are. Errors: `blame` (or kUnsupported where the rule says so), with the node.
Result<void> verify(const ir::Graph& g, Code blame = Code::kInternal);

// An error about a node: its name and origin filled in.
Error about(const ir::Node& n, Error e);

// The context to read graph text with: ops of table(), types by their rules. `find_constant`: the sidecar, if there is one.
ir::ParseContext parse_context(std::function<Result<ir::Tensor>(std::string_view)> find_constant = nullptr);

}  // namespace edgewright::ops
