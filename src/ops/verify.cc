#include "ops/verify.h"

#include "ir/verify.h"

namespace edgewright::ops {

Error about(const ir::Node& n, Error e) {
  if (e.node.empty()) e.node = n.num_results() ? n.result()->name : n.name();
  if (e.origin.empty() && n.origin) {
    e.origin = n.origin->module_path;
    if (!n.origin->stack_trace.empty()) e.origin += (e.origin.empty() ? "" : "; ") + n.origin->stack_trace;
  }
  return e;
}

namespace {
Result<void> verify_types(const ir::Graph& g, Code blame) {
  for (const auto& n : g.nodes()) {
    for (const ir::Arg& a : n->args())
      if (a.graph() && *a.graph())
        if (auto r = verify_types(**a.graph(), blame); !r)
          return with_note(std::move(r.error()), "subgraph " + (*a.graph())->name);
    const OpDef* d = def(*n);
    if (!d) continue;
    auto types = infer(*d, Call::of(*n));
    if (!types) return std::unexpected(about(*n, std::move(types.error())));
    if (types->size() != n->num_results()) {
      auto e = fail(blame, "{} has {} results, not {}", n->name(), types->size(), n->num_results());
      return std::unexpected(about(*n, std::move(e.error())));
    }
    for (size_t i = 0; i < types->size(); ++i) {
      if (ir::may_equal(n->result(i)->type, (*types)[i])) continue;
      auto e = fail(blame, "%{} is {}, but {} makes {}", n->result(i)->name, ir::str(n->result(i)->type), n->name(),
                    ir::str((*types)[i]));
      return std::unexpected(about(*n, std::move(e.error())));
    }
  }
  return {};
}
}  // namespace

Result<void> verify(const ir::Graph& g, Code blame) {
  EW_TRY(ir::verify_structure(g, blame));
  return verify_types(g, blame);
}

ir::ParseContext parse_context(std::function<Result<ir::Tensor>(std::string_view)> find_constant) {
  return {.find_op = [](std::string_view name) -> const ir::Op* { return find(name); },
          .infer =
              [](const ir::Op& op, const std::vector<ir::Arg>& args) {
                return infer(static_cast<const OpDef&>(op), Call::of(op, args));
              },
          .find_constant = std::move(find_constant)};
}

}  // namespace edgewright::ops
