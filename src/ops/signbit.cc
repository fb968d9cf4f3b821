// src/ops/signbit.cc - whether the sign is negative, that of -0.0 and NaN, too. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_signbit() {
  return {with_decompose(
      elementwise(
          {.schema = "aten::signbit(Tensor self) -> Tensor",
           .slots = {"self"},
           .rule = Rule::kBool,
           .formula = tests<1>([](double x) { return std::signbit(x); }).ints<1>([](int64_t x) { return x < 0; })}),
      [](const ir::Node& n, Builder& b) {
        // Zeros by the sign of their reciprocal; NaNs all count as positive.
        const ir::Arg x = n.arg("self");
        ir::Value* zero = b("aten.lt.Scalar", {b("aten.reciprocal", {x}), 0});
        return b.done({b("aten.where.self", {b("aten.eq.Scalar", {x, 0}), zero, b("aten.lt.Scalar", {x, 0})})});
      })};
}

}  // namespace edgewright::ops
