// src/ops/copysign.cc - self's size with other's sign. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

OpDef of(const char* schema) {
  OpDef d = elementwise({.schema = schema,
                         .slots = {"self", "other"},
                         .rule = Rule::kFloat,
                         .formula = floats<2>([](auto a, auto b) {
                           return num::other(a, b, [](double x, double y) { return std::copysign(x, y); });
                         })});
  d.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const DType t = n.result()->tensor()->dtype;
    ir::Value* size = b("aten.abs", {n.arg("self")});
    if (size && size->tensor()->dtype != t) size = b("aten._to_copy", {size, t});
    ir::Value* minus = b("aten.neg", {size});
    if (const ir::Value* other = n.arg("other").value(); other && other->tensor())
      return b.done({b("aten.where.self", {b("aten.signbit", {n.arg("other")}), minus, size})});
    const auto sign = constant_number(n, "other");
    if (!sign) return std::vector<ir::Value*>{};
    return b.done({std::signbit(*sign) ? minus : size});
  };
  return d;
}

}  // namespace

std::vector<OpDef> define_copysign() {
  return {of("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor"),
          of("aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor")};
}

}  // namespace edgewright::ops
