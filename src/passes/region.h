// src/passes/region.h - one rewrite as a graph of its own: what is judged, and what a report of a wrong rewrite shows.
// Depends on passes/pass_def.h.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "passes/pass_def.h"

namespace edgewright::passes {

// Numbers for tensors in memory: equal numbers are the same bytes, also after one of them was freed.
class ConstantIds {
 public:
  uint64_t of(const ir::Tensor& t);

 private:
  struct Known {
    std::weak_ptr<const void> owner;
    uint64_t id = 0;
  };
  std::unordered_map<const std::byte*, Known> known_;
  uint64_t next_ = 0;
};

// The nodes that a rewrite removes and those that stand for them. Independent of the graph it was made from, whose constants'
// bytes it shares; safe to evaluate on another thread.
struct Region {
  std::shared_ptr<Graph>
      graph;  // inputs: the boundary, in order of first use; nodes: the removed ones, then the new ones
  std::vector<std::pair<const Value*, const Value*>>
      results;                       // what was, and what stands for it now; only where they differ
  std::vector<std::string> removed;  // names of the nodes removed
  Agreement promise = Agreement::kBitExact;
  std::string key;  // regions with equal keys are equal: ops, arguments, types, promise; small constants by content

  // The removed nodes alone, as a program with the root's results as outputs: what the pass was given.
  ir::Program before() const;
};
Region region_of(const Rewriter& rw, Agreement promise, ConstantIds& ids);

}  // namespace edgewright::passes
