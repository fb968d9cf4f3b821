// src/passes/validate.h - checks a single rewrite before it is accepted (soundness.md, "Each rewrite, locally"). Depends on interp.
//
// The region removed (root and matched nodes) and the region that replaces it (new nodes) are evaluated on one set of boundary
// values, at chosen elements of each result, and compared at the agreement that the pass promises. Cost follows the elements
// asked for, not the tensors: boundary tensors are windows into one pool of numbers.
#pragma once

#include <map>

#include "passes/pass_manager.h"

namespace edgewright::passes {

class Validator {
 public:
  Validator(Verify mode, const ir::SymbolRanges& ranges) : mode_(mode), ranges_(ranges) {}
  // The fault found, in words with the values, or nullopt where both regions agree (or cannot be evaluated: then structure and
  // types are all that was checked, and `unjudged` counts it).
  std::optional<std::string> check(const PassDef& pass, const Rewriter& rw);
  // Two graphs of one program, one in-place and with views where it likes, on the interpreter: outputs, states and overwritten inputs.
  // Only where that is little work; larger graphs are `unjudged`.
  std::optional<std::string> check_whole(const PassDef& pass, const Graph& before, const Graph& after);
  int unjudged() const { return unjudged_; }

 private:
  struct Region;
  // Boundary values of one round: what kind of numbers, and the sizes of symbolic dims.
  enum class Fill : uint8_t { kNormal, kExtremes, kNan, kInfinite };
  std::optional<std::string> round(const PassDef& pass, const Rewriter& rw, const Region& region, Fill fill,
                                   const ir::SymbolValues& symbols, size_t seed);
  std::vector<ir::SymbolValues> choices(const std::vector<std::string>& symbols) const;
  ir::Tensor window(DType dtype, std::vector<int64_t> sizes, Fill fill, size_t seed);

  Verify mode_;
  const ir::SymbolRanges& ranges_;
  int unjudged_ = 0;
  // One pool for each dtype and fill; grown to the largest tensor asked for.
  std::map<std::pair<DType, Fill>, ir::Tensor> pools_;
};

}  // namespace edgewright::passes
