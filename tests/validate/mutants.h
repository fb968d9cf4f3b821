// tests/validate/mutants.h - deliberately wrong passes, each one fault of this field, each with a graph on which it fires at %y.
// For tests alone: they show that the check of each rewrite would catch such a pass. Depends on passes.
#pragma once

#include "passes/pass_manager.h"

namespace edgewright::passes {

struct Mutant {
  PassDef pass;  // its summary is the fault
  std::string graph;
};
const std::vector<Mutant>& mutants();

}  // namespace edgewright::passes
