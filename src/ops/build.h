// src/ops/build.h - makes nodes with inferred types. Depends on ops/op_def.h.
#pragma once

#include "ops/op_def.h"

namespace edgewright::ops {

// Adds one node; args in schema order, trailing defaults may be left away. Errors: kInternal for an unknown op name,
// the rule's own error otherwise.
Result<ir::Node*> add_node(ir::Graph& g, std::string_view op, std::vector<ir::Arg> args, ir::Node* before = nullptr,
                           std::shared_ptr<const ir::Origin> origin = nullptr);

// Adds nodes in front of `before` (null: at the end) with one origin. After a failure every call returns null and does nothing,
// so that a chain of calls needs one check at its end: `return b.done({y})`.
class Builder {
 public:
  Builder(ir::Graph& g, ir::Node* before, std::shared_ptr<const ir::Origin> origin = nullptr)
      : g_(g), before_(before), origin_(std::move(origin)) {}
  // First result of a new node.
  ir::Value* operator()(std::string_view op, std::vector<ir::Arg> args);
  // All results.
  std::vector<ir::Value*> multi(std::string_view op, std::vector<ir::Arg> args);
  // A new constant: a 0-dim tensor, a list of ints as i64[n], or given data.
  ir::Value* constant(ir::Tensor t, std::string name = "const");
  ir::Value* scalar(DType t, double v);
  bool failed() const { return error_.has_value(); }
  Result<std::vector<ir::Value*>> done(std::vector<ir::Value*> values);
  ir::Graph& graph() { return g_; }
  ir::Node* before() const { return before_; }

 private:
  ir::Graph& g_;
  ir::Node* before_;
  std::shared_ptr<const ir::Origin> origin_;
  std::optional<Error> error_;
};

}  // namespace edgewright::ops
