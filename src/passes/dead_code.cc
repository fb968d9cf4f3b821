// src/passes/dead_code.cc - dead-code: a node whose results nobody uses -> nothing.
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

Result<bool> run(ir::Program& p) {
  Graph& g = *p.graph;
  bool changed = false;
  auto nodes = g.snapshot();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    Node* n = *it;
    const ops::OpDef* d = ops::def(*n);
    if (!d || d->has_side_effect || d->functional) continue;
    bool used = false;
    for (size_t i = 0; i < n->num_results(); ++i) used |= !n->result(i)->users.empty() || g.is_output(n->result(i));
    if (used) continue;
    g.erase(n);
    changed = true;
  }
  g.remove_unused_constants();
  return changed;
}

}  // namespace
PassDef define_dead_code() {
  return {.name = "dead-code",
          .run = run,
          .agreement = Agreement::kBitExact,
          .summary = "a node whose results nobody uses -> nothing"};
}
}  // namespace edgewright::passes
