// src/passes/pipeline.cc - the default pipeline, in order, and why each stands where it does.
#include "passes/pass_manager.h"

namespace edgewright::passes {

const std::vector<std::string>& default_pipeline() {
  static const std::vector<std::string> order = {
      "inline-graphs",      // before functionalize, which does not look into graphs
      "functionalize",      // first of what changes nodes: everything after it may assume pure dataflow
      "remove-noops",       // clones and dropouts hide patterns
      "convert-to-linear",  // an addmm whose alpha or beta is not 1, before it falls apart
      "decompose",          // before the patterns: they are written for the simple ops
      "open-sizes",         // views need no computed sizes, as far as they can be derived
      "remove-noops",       // decompositions leave casts that change nothing
      "compose-movement",   // and views of views
      "compose-affine",     // before folding and the passes that know quantization by its ops
      "cse",                // equal masks and positions are computed once
      "convert-to-linear",  // before folding, which would swallow the transposes it looks for (right either way)
      "fold-batch-norm",    // needs convolution or linear beside the norm
      "quantized-forms",    // before the weights that it looks for are folded to floats
      "quantized-rows",     // before the table is folded to floats
      "fold-constants",     // masks, positions, scales
      "safe-softmax",       // where masks are constants, it sees what they close
      "bmm-over-batches",   // before anything takes the views around a product for something else
      "xnn-forms",          // what XNNPACK computes in its own layout
      "expand-affine",      // what XNNPACK did not take
      "decompose",          // what XNNPACK refused after all, and what the forms are made of
      "open-sizes",         // of what that made
      "fold-constants",     // weights into their new layout
      "quantized-forms",    // what the forms have moved to the integers
      "sink-permutes",      // permutes meet and cancel
      "fold-constants",     // constants that were permuted on the way
      "remove-noops",       // what the forms left
      "compose-movement",   // what is left between them
      "fuse-clamp",         // after the permutes, which stand between an op and its activation
      "cse",
      "constants-into-graphs",  // when no more constants come up; the graphs then go through all of this
      "inline-graphs",          // a cond whose predicate was folded
      "dead-code",              // last: nothing unused is partitioned
  };
  return order;
}

}  // namespace edgewright::passes
