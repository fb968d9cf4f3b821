// src/ops/bitwise_not.cc - ~x on ints; logical not on bools. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_bitwise_not() {
  OpDef d = elementwise({.schema = "aten::bitwise_not(Tensor self) -> Tensor",
                         .slots = {"self"},
                         .rule = Rule::kPromote,
                         .formula = {},
                         .choose =
                             [](const Call& c) {
                               return is_bool(c.type(0).dtype) ? ints<1>([](int64_t x) { return x == 0; })
                                                               : ints<1>([](int64_t x) { return ~x; });
                             },
                         .stock = "aten::bitwise_not.out"});
  return {std::move(d)};
}

}  // namespace edgewright::ops
