// tests/random/generate.h - random graphs, right in their types, over the ops of the table. Depends on ops, interp.
//
// A graph grows node by node, and each node is run at once on the sample inputs: so operands of a kind that an op needs can be
// looked for by their values (indices in range), and a node whose numbers explode is dropped again.
#pragma once

#include <map>
#include <set>

#include "judge.h"

namespace edgewright::random {

struct Case {
  std::shared_ptr<ir::Graph> graph;
  ir::SymbolRanges ranges;
  Sample sample;
  ir::Program program() const { return program_of(graph, ranges); }
};

struct GenerateOptions {
  int max_nodes = 10;
  // What programs written for PyTorch itself can hold: no ops of ours, no inputs without a user.
  bool for_torch = false;
  std::set<std::string> only;  // ops to choose from; empty: all
};

// The same for the same seed, on every machine.
Case generate(uint64_t seed, const GenerateOptions& o = {});

// How often each op was put into a graph, and how often its rule or its run refused what was tried, since the start.
struct Tried {
  int made = 0, refused = 0;
};
const std::map<std::string, Tried>& statistics();

// A copy that holds only what its outputs and writes need: nodes, inputs, constants, states. In-place ops and their operands
// stay where their storage may be read. `kept` (optional): the number of each input that is left.
std::shared_ptr<ir::Graph> pruned(const ir::Graph& g, std::vector<size_t>* kept = nullptr);

}  // namespace edgewright::random
