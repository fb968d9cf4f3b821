// src/ops/bmm.cc - aten.bmm: [b, m, k] @ [b, k, n].
#include "ops/products.h"

namespace edgewright::ops {
namespace {

Result<Types> rule(const Call& c) {
  const TensorType &a = c.tensor("self"), &b = c.tensor("mat2");
  if (a.rank() != 3 || b.rank() != 3) c.error("[bmm.1] both operands must have rank 3");
  if (c.failed()) return Types{};
  if (differ(a.shape[0], b.shape[0]))
    c.error(fmt::format("[bmm.2] batch sizes {} and {} differ", a.shape[0].str(), b.shape[0].str()));
  check_product(c, a, b, a.shape[2], b.shape[1]);
  return Types{TensorType{a.dtype, {a.shape[0], a.shape[1], b.shape[2]}}};
}

Contraction make(const Call& c) {
  return {.dtype = c.type(0).dtype, .a = {0, {0, 1, ~0}}, .b = {1, {0, ~0, 2}}, .inner = {c.type(0).shape[2].value()}};
}

}  // namespace

std::vector<OpDef> define_bmm() {
  OpDef d = contraction("aten::bmm(Tensor self, Tensor mat2) -> Tensor", rule, make, "aten::bmm.out");
  d.lower = [](const ir::Node& n, XnnEmitter& out) {
    return out.batch_matmul(n.arg("self").value(), n.arg("mat2").value(), n.result());
  };
  return {d};
}
}  // namespace edgewright::ops
