// src/interp/interp.h - the reference interpreter: runs any graph, functional or not, one node after the other.
// Depends on ops, ir. Slow and obvious; what it gives is what the program means.
//
// Views and in-place ops are carried out as such: views share storage, in-place ops write to it. So a program gives the same
// before and after functionalization, and that is checked by running both.
#pragma once

#include <functional>
#include <map>

#include "interp/datum.h"

namespace edgewright::interp {

// Mutated buffers by name, between calls; empty: initial values. Not thread-safe.
struct State {
  std::map<std::string, ir::Tensor, std::less<>> values;
};

struct Options {
  State* state = nullptr;  // null: every call starts from the initial values
  // Called after each node of the outermost graph, with its results. In-place ops may change their storage later.
  std::function<void(const ir::Node&, std::span<const Datum>)> observe;
  int64_t max_rounds = 1 << 20;              // of a while_loop
  const ir::SymbolRanges* ranges = nullptr;  // checked against the inputs
  std::span<const std::pair<ir::Dim, ir::Range>> expression_ranges = {};
};

struct RunResult {
  std::vector<Datum> outputs;  // parallel to Graph::outputs
  std::map<size_t, ir::Tensor>
      inputs;  // inputs that the program overwrote: number (of the graph's input, or of the program's leaf) -> new value
  ir::SymbolValues symbols;  // sizes as bound by this call
};

// Inputs parallel to g.inputs(); they are never written to.
// Errors: kUsage where an input does not fit (count, dtype, shape, range), naming input and constraint; kUnsupported for a node
// without a meaning here, with its name and origin; kMalformed where a result is not of the type that the graph gives it.
// The state is as it was after an error.
Result<RunResult> run(const ir::Graph& g, std::span<const Datum> inputs, const Options& o = {});

// Inputs by leaf. One that the export fixed may be None (left out) or must be equal to what was fixed. Tensors are laid out
// with the strides that the program declares. Errors: as above.
Result<RunResult> run(const ir::Program& p, std::span<const Datum> leaves, Options o = {});

// One node whose inputs are all constants or states with their initial values: its results, contiguous, in storage of their own.
// Errors: kUnsupported where it has no meaning here or gives numbers.
Result<std::vector<ir::Tensor>> evaluate(const ir::Node& n);

}  // namespace edgewright::interp
