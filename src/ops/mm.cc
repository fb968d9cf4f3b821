// src/ops/mm.cc - aten.mm: [m, k] @ [k, n].
#include "ops/products.h"

namespace edgewright::ops {
namespace {

Result<Types> rule(const Call& c) {
  const TensorType &a = c.tensor("self"), &b = c.tensor("mat2");
  if (a.rank() != 2 || b.rank() != 2) c.error("[mm.1] both operands must be matrices");
  if (c.failed()) return Types{};
  check_product(c, a, b, a.shape[1], b.shape[0]);
  return Types{TensorType{a.dtype, {a.shape[0], b.shape[1]}}};
}

Contraction make(const Call& c) {
  return {.dtype = c.type(0).dtype, .a = {0, {0, ~0}}, .b = {1, {~0, 1}}, .inner = {c.type(0).shape[1].value()}};
}

Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  const ir::Value *a = n.arg("self").value(), *b = n.arg("mat2").value();
  if (b->is_constant()) return out.fully_connected(a, b, nullptr, n.result(), true);
  return out.batch_matmul(a, b, n.result());
}

}  // namespace

std::vector<OpDef> define_mm() {
  OpDef d = contraction("aten::mm(Tensor self, Tensor mat2) -> Tensor", rule, make, "aten::mm.out");
  d.lower = lower;
  return {d};
}
}  // namespace edgewright::ops
