// src/ops/isnan.cc - whether an element is NaN. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_isnan() {
  return {elementwise({.schema = "aten::isnan(Tensor self) -> Tensor",
                       .slots = {"self"},
                       .rule = Rule::kBool,
                       .formula = tests<1>([](double x) { return x != x; }).ints<1>([](int64_t) { return int64_t{0}; }),
                       .choose = {},
                       .stock = "aten::isnan.out"})};
}

}  // namespace edgewright::ops
