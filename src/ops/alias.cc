// src/ops/alias.cc - the same tensor under another name: alias, detach, lift. Depends on ops/view_rules.h.
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

std::vector<Layout> same(const Call&, const Layout& base) { return {base}; }
Result<ir::Value*> back(const ir::Node&, size_t, ir::Value*, ir::Value* written, Builder&) { return written; }
// Nothing is left of it: the result is its argument.
Result<std::vector<ir::Value*>> gone(const ir::Node& n, Builder&) { return std::vector<ir::Value*>{self_of(n)}; }

OpDef named(const char* schema) {
  OpDef d = view_op(schema, same, back);
  d.decompose = gone;
  return d;
}
OpDef copied(const char* schema) {
  OpDef d = moving_op(schema, same);
  d.decompose = gone;
  return d;
}

}  // namespace

std::vector<OpDef> define_alias() {
  return {named("aten::alias(Tensor(a) self) -> Tensor(a)"),      named("aten::detach(Tensor(a) self) -> Tensor(a)"),
          named("aten::lift_fresh(Tensor(a) self) -> Tensor(a)"), copied("aten::alias_copy(Tensor self) -> Tensor"),
          copied("aten::detach_copy(Tensor self) -> Tensor"),     copied("aten::lift(Tensor self) -> Tensor"),
          copied("aten::lift_fresh_copy(Tensor self) -> Tensor")};
}

}  // namespace edgewright::ops
