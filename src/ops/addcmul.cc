// src/ops/addcmul.cc - self + value * tensor1 * tensor2. Depends on ops/element_arg.h.
#include "ops/element_arg.h"

namespace edgewright::ops {

std::vector<OpDef> define_addcmul() {
  OpDef d =
      elementwise({.schema = "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
                   .slots = {"self", "tensor1", "tensor2", cast("value")},
                   .rule = Rule::kPromote,
                   .formula = floats<4>([](auto self, auto t1, auto t2, auto value) {
                                return self + value * t1 * t2;
                              }).ints<4>([](int64_t self, int64_t t1, int64_t t2, int64_t value) {
                     return wrap_add(self, wrap_mul(value, wrap_mul(t1, t2)));
                   })});
  d.decompose = [](const ir::Node& n, Builder& b) {
    ir::Value* y = b("aten.mul.Tensor", {n.arg("tensor1"), n.arg("tensor2")});
    if (constant_number(n, "value") != 1.0) y = b("aten.mul.Scalar", {y, element_arg(n, "value")});
    return b.done({b("aten.add.Tensor", {n.arg("self"), y})});
  };
  return {std::move(d)};
}

}  // namespace edgewright::ops
