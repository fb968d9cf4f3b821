// src/ops/masked_fill.cc - value where the mask holds, self elsewhere; self's dtype. [masked_fill.1] mask is bool; [masked_fill.2] value has no dims. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_masked_fill() {
  const auto of = [](const char* schema, const char* stock) {
    OpDef d = elementwise({.schema = schema,
                           .slots = {"self", as_is("mask"), cast("value")},
                           .rule = Rule::kFirst,
                           .formula = Formula::both<3>([](auto a, auto m, auto v) { return num::select(m, v, a); }),
                           .choose = {},
                           .stock = stock});
    d.infer = [rule = d.infer](const Call& c) -> Result<Types> {
      if (!is_bool(c.tensor("mask").dtype))
        return fail(Code::kUnsupported, "[masked_fill.1] mask is {}", name(c.tensor("mask").dtype));
      if (c.operand("value") >= 0 && c.tensor("value").rank() > 0)
        return fail(Code::kUnsupported, "[masked_fill.2] value has dims");
      return rule(c);
    };
    return d;
  };
  OpDef tensor = of("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", "");
  tensor.decompose = [](const ir::Node& n, Builder& b) {
    ir::Value* v = n.arg("value").value();
    const DType t = n.result()->tensor()->dtype;
    if (v->tensor()->dtype != t) v = b("aten._to_copy", {v, t});
    return b.done({b("aten.where.self", {n.arg("mask"), v, n.arg("self")})});
  };
  return {
      of("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", "aten::masked_fill.Scalar_out"),
      std::move(tensor)};
}

}  // namespace edgewright::ops
