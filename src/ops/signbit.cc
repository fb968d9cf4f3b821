// src/ops/signbit.cc - whether the sign is negative, that of -0.0 and NaN, too. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_signbit() {
  return {elementwise({.schema = "aten::signbit(Tensor self) -> Tensor", .slots = {"self"}, .rule = Rule::kBool, .formula = tests<1>([](double x) { return std::signbit(x); }).ints<1>([](int64_t x) { return x < 0; })})};
}

}  // namespace edgewright::ops
