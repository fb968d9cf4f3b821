// src/ops/copy.cc - src broadcast to self's shape and cast to self's dtype; fill and zero, which do it with one number. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

// [copy.1] Number dtypes; src broadcasts to self.
Result<Types> like_self(const Call& c) {
  const TensorType& t = c.type(0);
  if (!is_number(t.dtype)) return fail(Code::kUnsupported, "{}: [copy.1] dtype {}", c.name(), name(t.dtype));
  if (c.num_operands() > 1 && broadcast(c, t.shape, c.type(1).shape) != t.shape && !c.failed())
    return fail(Code::kUnsupported, "{}: [copy.1] the source is larger", c.name());
  return Types{t};
}

}  // namespace

std::vector<OpDef> define_copy() {
  OpDef copy = elementwise({.schema = "aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
                            .slots = {"self", cast("src")},
                            .rule = Rule::kFirst,
                            .formula = Formula::both<2>([](auto, auto src) { return src; }),
                            .choose = {}});
  copy.infer = like_self;
  copy.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const TensorType& self = *n.result()->tensor();
    ir::Value* src = n.arg("src").value();
    if (src->tensor()->dtype != self.dtype) src = b("aten._to_copy", {src, self.dtype});
    if (src && src->tensor()->shape != self.shape) src = b("aten.expand_as", {src, n.arg("self")});
    return b.done({src});
  };
  OpDef fill = filled("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", like_self,
                      [](const Call& c) { return c.scalar("value"); });
  fill.stock = "aten::fill.Scalar_out";
  OpDef tensor = elementwise({.schema = "aten::fill.Tensor(Tensor self, Tensor value) -> Tensor",
                              .slots = {"self", cast("value")},
                              .rule = Rule::kFirst,
                              .formula = Formula::both<2>([](auto, auto value) { return value; }),
                              .choose = {},
                              .stock = "aten::fill.Tensor_out"});
  tensor.infer = [](const Call& c) -> Result<Types> {
    if (c.rank("value") != 0) return fail(Code::kUnsupported, "[fill.1] value has {} dims", c.rank("value"));
    return like_self(c);
  };
  OpDef zero = filled("aten::zero(Tensor self) -> Tensor", like_self, [](const Call&) { return Scalar{}; });
  zero.decompose = [](const ir::Node& n, Builder& b) { return b.done({b("aten.fill.Scalar", {n.arg("self"), 0})}); };
  return {std::move(copy), std::move(fill), std::move(tensor), std::move(zero)};
}

}  // namespace edgewright::ops
