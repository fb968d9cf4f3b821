// src/ops/div.cc - self / other: true division (ints give f32), or rounded towards zero or down. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

Formula true_quotient() {
  return floats<2>([](auto a, auto b) { return a / b; });
}
OpDef true_division(const char* schema, const char* stock) {
  return elementwise({.schema = schema,
                      .slots = {"self", "other"},
                      .rule = Rule::kFloat,
                      .formula = true_quotient(),
                      .choose = {},
                      .stock = stock});
}
// [div.1] rounding_mode is None, "trunc" or "floor".
OpDef rounded_division(const char* schema, const char* stock) {
  const auto mode = [](const Call& c) { return c.has("rounding_mode") ? c.str("rounding_mode") : std::string(); };
  OpDef d = elementwise(
      {.schema = schema,
       .slots = {"self", "other"},
       .formula = {},
       .choose = [mode](const Call& c) -> Formula {
         const std::string m = mode(c);
         if (m == "trunc")
           return floats<2>([](auto a, auto b) { return num::step(a / b, [](double t) { return std::trunc(t); }); })
               .ints<2>([](int64_t a, int64_t b) { return int_div_trunc(a, b); });
         if (m == "floor") return floor_division();
         if (!m.empty()) c.error(fmt::format("[div.1] rounding_mode is '{}'", m));
         return true_quotient();
       },
       .stock = stock,
       .rule_of = [mode](const Call& c) { return mode(c).empty() ? Rule::kFloat : Rule::kPromote; }});
  d.lower = [](const ir::Node& n, XnnEmitter& x) -> Result<void> {
    if (n.arg("rounding_mode").is_none()) return lower_binary(XnnBinary::kDivide)(n, x);
    return fail(Code::kKeptOnHost, "{}: XNNPACK has no rounded division", n.name());
  };
  return d;
}

}  // namespace

std::vector<OpDef> define_div() {
  return {with_lower(true_division("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", "aten::div.out"),
                     lower_binary(XnnBinary::kDivide), Agreement::kBitExact),
          with_lower(true_division("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", "aten::div.Scalar_out"),
                     lower_binary(XnnBinary::kDivide), Agreement::kBitExact),
          rounded_division("aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
                           "aten::div.out_mode"),
          rounded_division("aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
                           "aten::div.Scalar_mode_out"),
          renamed("aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor", "aten.div.Tensor"),
          renamed("aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor", "aten.div.Scalar"),
          renamed("aten::divide.Tensor(Tensor self, Tensor other) -> Tensor", "aten.div.Tensor"),
          renamed("aten::divide.Scalar(Tensor self, Scalar other) -> Tensor", "aten.div.Scalar"),
          renamed("aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
                  "aten.div.Tensor_mode"),
          renamed("aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
                  "aten.div.Scalar_mode")};
}

}  // namespace edgewright::ops
