// src/passes/validate.h - checks a single rewrite before it is accepted (soundness.md, "Each rewrite, locally"). Depends on interp.
//
// The region removed (root and matched nodes) and the region that replaces it (new nodes) are evaluated on one set of boundary
// values, at chosen elements of each result, and compared at the agreement that the pass promises. Cost follows the elements
// asked for, not the tensors: boundary tensors are windows into one pool of numbers. Regions are judged in parallel, equal ones
// once; what is found depends on neither.
#pragma once

#include <map>
#include <mutex>

#include "passes/pass_manager.h"
#include "passes/region.h"

namespace edgewright::passes {

// `fault`: in words with the values, or nullopt where both sides agree. `judged` is false where the region could not be evaluated at
// some of the numbers tried (the op has no meaning by elements, or needs too many of them): types are then all that was checked.
struct Verdict {
  std::optional<std::string> fault;
  bool judged = true;
};

class Validator {
 public:
  Validator(Verify mode, const ir::SymbolRanges& ranges) : mode_(mode), ranges_(ranges) {}
  // What needs no numbers: a new node that rounds more coarsely than anything it replaces. Nullopt where there is none.
  std::optional<std::string> glance(const Rewriter& rw) const;
  // One verdict for each region. A region without a key is like no other.
  std::vector<Verdict> judge(std::span<const Region> regions);
  // Two graphs of one program, one in-place and with views where it likes, on the interpreter: outputs, states and overwritten inputs.
  // Without `however_large` only where that is little work; larger graphs are not judged.
  Verdict check_whole(Agreement promise, const Graph& before, const Graph& after, bool however_large);
  ConstantIds& ids() { return ids_; }

 private:
  // Boundary values of one round: what kind of numbers, and the sizes of symbolic dims.
  enum class Fill : uint8_t { kNormal, kExtremes, kNan, kInfinite };
  Verdict check(const Region& region);
  Verdict round(const Region& region, Fill fill, const ir::SymbolValues& symbols, size_t seed);
  std::vector<ir::SymbolValues> choices(const std::vector<std::string>& symbols) const;
  ir::Tensor window(DType dtype, std::vector<int64_t> sizes, Fill fill, size_t seed);

  Verify mode_;
  const ir::SymbolRanges& ranges_;
  ConstantIds ids_;
  std::unordered_map<std::string, Verdict> known_;  // by Region::key
  // One pool for each dtype and fill; grown to the largest tensor asked for.
  std::mutex pools_mutex_;
  std::map<std::pair<DType, Fill>, ir::Tensor> pools_;
};

}  // namespace edgewright::passes
