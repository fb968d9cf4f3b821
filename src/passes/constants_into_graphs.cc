// src/passes/constants_into_graphs.cc - constants-into-graphs: cond(p, graph(w), [constant]) -> the constant stands in the graph.
//
// Exported graphs take weights as operands. As constants of the inner graph they fold, and XNNPACK can pack them. An input that is the
// same in every round or branch may be replaced so; what a loop carries on, or slices, may not.
#include "ops/control_flow.h"
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

Result<bool> run(ir::Program& p) {
  Graph& g = *p.graph;
  bool changed = false;
  for (const auto& n : g.nodes()) {
    const auto kind = ops::control_kind(n->op());
    if (!kind || *kind == ops::ControlKind::kWrap) continue;
    auto flow = ops::control_flow(*n);
    if (!flow) return std::unexpected(std::move(flow.error()));
    const size_t first = flow->carried.size() + flow->xs.size() * (*kind == ops::ControlKind::kAssociativeScan ? 2 : 1);
    for (size_t i = 0; i < flow->more.size(); ++i) {
      const Value* v = flow->more[i].value();
      if (!v || !v->is_constant()) continue;
      for (const auto& inner : flow->graphs) {
        Value* in = inner->inputs()[first + i];
        if (in->users.empty() && !inner->is_output(in)) continue;
        bool written = false;  // in place, or at the end: then it is the operand's storage that counts
        for (const ir::Write& w : inner->writes) written |= w.target == in;
        for (const Node* u : in->users) written |= ops::def(*u) && ops::def(*u)->functional;
        if (written) continue;
        inner->replace_all_uses(in, inner->add_constant(v->name, *v->data));
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace
PassDef define_constants_into_graphs() {
  return {.name = "constants-into-graphs",
          .run = run,
          .agreement = Agreement::kBitExact,
          .summary = "cond(p, graph(w), [constant]) -> the constant stands in the graph"};
}
}  // namespace edgewright::passes
