// src/ops/isinf.cc - whether an element is an infinity. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_isinf() {
  return {elementwise(
      {.schema = "aten::isinf(Tensor self) -> Tensor",
       .slots = {"self"},
       .rule = Rule::kBool,
       .formula = tests<1>([](double x) { return std::isinf(x); }).ints<1>([](int64_t) { return int64_t{0}; }),
       .choose = {},
       .stock = "aten::isinf.out"})};
}

}  // namespace edgewright::ops
