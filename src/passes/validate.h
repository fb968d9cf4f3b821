// src/passes/validate.h - checks a single rewrite before it is accepted (soundness.md, "Each rewrite, locally"). Depends on interp.
#pragma once

#include "passes/pass_manager.h"

namespace edgewright::passes {

class Validator {
 public:
  explicit Validator(Verify mode) : mode_(mode) {}
  // The fault found, in words, or nullopt where both regions agree at the pass's promise.
  std::optional<std::string> check(const PassDef& pass, const Rewriter& rw);

 private:
  Verify mode_;
};

}  // namespace edgewright::passes
