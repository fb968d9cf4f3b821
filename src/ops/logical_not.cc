// src/ops/logical_not.cc - whether an element is 0. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_logical_not() {
  return {elementwise({.schema = "aten::logical_not(Tensor self) -> Tensor",
                       .slots = {"self"},
                       .rule = Rule::kBool,
                       .formula = tests<1>([](double x) { return x == 0; }).ints<1>([](int64_t x) { return x == 0; }),
                       .choose = {},
                       .stock = "aten::logical_not.out"})};
}

}  // namespace edgewright::ops
