// src/interp/control_flow.h - torch's higher-order ops, whose arguments are graphs. Depends on ops, ir.
// Argument order is that of the exported nodes (torch/_higher_order_ops).
#pragma once

#include "interp/apply.h"

namespace edgewright::interp {

// One of the ops that ops/control_flow.h knows.
bool is_control_flow(const ir::Op& op);
// Runs the node; `body` runs one of its graphs.
// Errors: kMalformed where arguments are not what the op takes; kUnsupported where a loop does not end in `max_rounds` rounds.
Result<std::vector<Datum>> run_control_flow(
    const ir::Node& n, const Operands& of,
    const std::function<Result<std::vector<Datum>>(const ir::Graph&, std::span<const Datum>)>& body,
    int64_t max_rounds);

}  // namespace edgewright::interp
