// src/ops/control_flow.h - torch's higher-order ops, whose arguments are graphs, taken apart. Depends on ir.
//
// Argument order is that of exported nodes (torch/_higher_order_ops):
//   cond(pred, true, false, operands)               while_loop(condition, body, carried, more)
//   map_impl(body, xs, more)                        scan(body, init, xs, more)
//   associative_scan(combine, xs, more)
//   wrap_with_set_grad_enabled(enabled, body, ...)  wrap_with_autocast(device, dtype, enabled, cache, body, ...)
// Exported graphs know these ops by name alone; they have no OpDef.
#pragma once

#include <memory>
#include <optional>

#include "ir/graph.h"

namespace edgewright::ops {

enum class ControlKind : uint8_t { kCond, kWhileLoop, kMap, kScan, kAssociativeScan, kWrap };

// nullopt for every other op.
std::optional<ControlKind> control_kind(const ir::Op& op);

struct ControlFlow {
  ControlKind kind = ControlKind::kCond;
  ir::Arg predicate;                               // of cond: a value or a bool
  std::vector<std::shared_ptr<ir::Graph>> graphs;  // cond: true, false; while_loop: condition, body; others: one
  std::vector<size_t> graph_args;                  // where the graphs stand among the node's arguments
  // A graph's inputs are carried, slices of xs (twice for associative_scan: left, right), more, in this order.
  ir::ArgList carried, xs, more;
  size_t more_arg = 0;  // where `more` stands among the node's arguments; for kWrap the first of several arguments
};

// Errors: kMalformed where numbers or types of operands, inputs, outputs and results do not fit each other.
Result<ControlFlow> control_flow(const ir::Node& n);

}  // namespace edgewright::ops
