// src/passes/pass_def.h - what a pass is, and the Rewriter through which it edits. Depends on ops.
//
// A pass is one file defining `PassDef define_<pass>()` (file name = pass name with underscores); the build makes the table from the
// file names, pipeline.cc says which run and in what order. Most passes rewrite one root node at a time; those that need the
// whole graph (functionalize) set `run` instead. A pass may look only at dataflow, types and constants, never at origins.
#pragma once

#include "ops/build.h"

namespace edgewright::passes {

using ir::Graph;
using ir::Node;
using ir::Value;
using ops::Agreement;

// Outcome of one rewrite attempt.
struct [[nodiscard]] Match {
  bool applied = false;
  std::string reason;            // why not; empty: simply not this pattern
  std::optional<Error> failure;  // a fault while building the replacement
};
inline Match no_match(std::string reason = {}) { return {false, std::move(reason), std::nullopt}; }

// Collects the replacement of one root node. Nothing in the graph changes for its users until the pass manager accepts it:
// new nodes are inserted in front of the root, and the root's results are swapped only after validation.
class Rewriter {
 public:
  Rewriter(Graph& g, Node& root) : g_(g), root_(root), build_(g, &root, root.origin), first_new_(previous()) {}

  // A new node with inferred types; args in schema order. Null after a failure (replace() then reports it).
  Value* operator()(std::string_view op, std::vector<ir::Arg> args) { return build_(op, std::move(args)); }
  std::vector<Value*> multi(std::string_view op, std::vector<ir::Arg> args) {
    return build_.multi(op, std::move(args));
  }
  Value* constant(ir::Tensor t, std::string name) { return build_.constant(std::move(t), std::move(name)); }
  // aten.permute and aten.view; of a constant a new constant at once (a permuted one shares its bytes), so that what needs
  // constant weights sees one.
  Value* permute(Value* v, const std::vector<int64_t>& dims);
  Value* view(Value* v, const std::vector<int64_t>& sizes);
  ops::Builder& builder() { return build_; }
  Graph& graph() { return g_; }

  // Names a node besides the root whose meaning the match relied on; it becomes part of the region that is compared.
  void matched(Node* n) { matched_.push_back(n); }
  // What this rewrite promises, where that is less than the pass's own class.
  void promise(Agreement a) { agreement_ = a; }
  std::optional<Agreement> promised() const { return agreement_; }
  // Ends the match: values to stand for the root's results, one each (null: that result has no users).
  Match replace(std::vector<Value*> values);
  Match replace(Value* v) { return replace(std::vector<Value*>{v}); }

  Node& root() const { return root_; }
  const std::vector<Node*>& matched_nodes() const { return matched_; }
  const std::vector<Value*>& replacement() const { return values_; }
  // Nodes that this rewriter inserted, in order.
  std::vector<Node*> new_nodes() const;

 private:
  Node* previous() const;
  Graph& g_;
  Node& root_;
  ops::Builder build_;
  Node* first_new_;  // the node before the first inserted one; null: inserted at the start
  std::vector<Node*> matched_;
  std::vector<Value*> values_;
  std::optional<Agreement> agreement_;
};

struct PassDef {
  std::string name;                // "convert-to-linear"
  std::vector<std::string> roots;  // op names; empty: every node
  std::function<Match(Node&, Rewriter&)> rewrite;
  std::function<Result<bool>(ir::Program&)> run;  // whole-graph passes: returns whether it changed anything
  Agreement agreement = Agreement::kBitExact;
  std::string summary;  // "before -> after", one line
};

const std::vector<PassDef>& table();
const PassDef* find(std::string_view name);

// --- small questions that passes ask ---
// The node that makes v, if it is the op named; null otherwise.
inline Node* producer(const Value* v, std::string_view op) {
  return v && v->producer && v->producer->is(op) ? v->producer : nullptr;
}
// Used exactly once, by a node, and not an output or written value.
bool only_user(const Value* v);
bool is_f32(const Value* v);
// Sizes of a statically shaped tensor value; nullopt otherwise.
std::optional<std::vector<int64_t>> sizes_of(const Value* v);
// A constant of one element as a number; nullopt otherwise.
std::optional<double> scalar_constant(const Value* v);
// Whether the results of a view op share its first argument's storage. Ops that give a view or a copy (reshape, contiguous) are
// told by the exporter's strides.
bool shares_storage(const Node& n);
// A permute's dims normalized to [0, rank), for aten.permute, aten.t and aten.transpose.int; nullopt for other nodes.
std::optional<std::vector<int64_t>> permutation(const Node* n);

}  // namespace edgewright::passes
