// src/ops/square.cc - x * x. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_square() {
  return {with_decompose(
      with_lower(unary_same("aten::square(Tensor self) -> Tensor",
                            floats<1>([](auto x) { return x * x; }).ints<1>([](int64_t x) { return wrap_mul(x, x); })),
                 lower_unary(XnnUnary::kSquare), Agreement::kBitExact),
      [](const ir::Node& n, Builder& b) { return b.done({b("aten.mul.Tensor", {n.arg("self"), n.arg("self")})}); })};
}

}  // namespace edgewright::ops
