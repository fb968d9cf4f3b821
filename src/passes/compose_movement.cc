// src/passes/compose_movement.cc - compose-movement: a chain of data movement -> the shortest equal one, often none:
//   permute(permute(x)), view(view(x)), expand(slice(x)), select(unsqueeze(x)), flip(flip(x)), split then select, clone, ...
// Each op of the chain is an index map; composed, they are one map from elements of the result to elements of the source, and the
// chain that is built is read off that map (ops/index_map.h). What other users or outputs need of the old chain stays for them.
#include "passes/movement.h"

namespace edgewright::passes {

PassDef define_compose_movement() {
  return {.name = "compose-movement",
          .rewrite = compose,
          .agreement = Agreement::kBitExact,
          .summary = "a chain of permutes, views, slices, expands, ... -> the shortest equal one"};
}

}  // namespace edgewright::passes
