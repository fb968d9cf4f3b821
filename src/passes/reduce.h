// src/passes/reduce.h - a small program that shows the same fault of a pass, for the report. Depends on passes/pass_manager.h.
#pragma once

#include <memory>

#include "passes/pass_manager.h"

namespace edgewright::passes {

// For a rewrite that was found wrong and undone: the nodes it would have replaced, with as many around them as it takes until the pass
// alone, run on them, fails its check again; the whole program where that is what it takes.
std::shared_ptr<const ir::Program> reproduce(const ir::Program& p, const PassDef& pass, const Rewriter& rw);
// The same for a pass over the whole graph: outputs and nodes are taken away as long as it still fails.
std::shared_ptr<const ir::Program> reproduce_whole(const ir::Program& p, const PassDef& pass);

}  // namespace edgewright::passes
