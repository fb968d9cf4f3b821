// src/ops/xlogy.cc - self * log(other), 0 where self is 0; NaN where other is. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

OpDef of(const char* schema) {
  OpDef d = elementwise(
      {.schema = schema, .slots = {"self", "other"}, .rule = Rule::kFloat, .formula = floats<2>([](auto a, auto b) {
                                                                             if (num::value(b) != num::value(b))
                                                                               return b;
                                                                             return num::unless_certain(
                                                                                 num::value(a) == 0 ? decltype(a)(0.0)
                                                                                                    : a * num::log(b),
                                                                                 num::certain(a, 0));
                                                                           })});
  d.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    // Numbers become tensors of the result's dtype; tensors are cast to it.
    const DType t = n.result()->tensor()->dtype;
    bool known = true;
    const auto operand = [&](const char* p) -> ir::Value* {
      ir::Value* v = n.arg(p).value();
      if (v && v->tensor()) return v->tensor()->dtype == t ? v : b("aten._to_copy", {v, t});
      const auto number = constant_number(n, p);
      known = known && number;
      return b.scalar(t, number.value_or(0));
    };
    ir::Value *x = operand("self"), *y = operand("other");
    if (!known) return std::vector<ir::Value*>{};
    ir::Value* product =
        b("aten.where.ScalarSelf", {b("aten.eq.Scalar", {x, 0}), 0.0, b("aten.mul.Tensor", {x, b("aten.log", {y})})});
    return b.done({b("aten.where.self", {b("aten.isnan", {y}), y, product})});
  };
  return d;
}

}  // namespace

std::vector<OpDef> define_xlogy() {
  return {of("aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor"),
          of("aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor"),
          of("aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor")};
}

}  // namespace edgewright::ops
