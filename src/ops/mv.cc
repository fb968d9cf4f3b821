// src/ops/mv.cc - aten.mv, aten.dot, aten.vdot, aten.outer: products with vectors.
#include "ops/products.h"

namespace edgewright::ops {
namespace {

using Values = Result<std::vector<ir::Value*>>;

Result<Types> infer_mv(const Call& c) {
  const TensorType &a = c.tensor("self"), &b = c.tensor("vec");
  if (a.rank() != 2 || b.rank() != 1) c.error("[mv.1] needs a matrix and a vector");
  if (c.failed()) return Types{};
  check_product(c, a, b, a.shape[1], b.shape[0]);
  return Types{TensorType{a.dtype, {a.shape[0]}}};
}
Result<Types> infer_dot(const Call& c) {
  const TensorType &a = c.type(0), &b = c.type(1);
  if (a.rank() != 1 || b.rank() != 1) c.error("[dot.1] needs two vectors");
  if (c.failed()) return Types{};
  check_product(c, a, b, a.shape[0], b.shape[0]);
  return Types{TensorType{a.dtype, {}}};
}
Result<Types> infer_outer(const Call& c) {
  const TensorType &a = c.tensor("self"), &b = c.tensor("vec2");
  if (a.rank() != 1 || b.rank() != 1) c.error("[outer.1] needs two vectors");
  if (c.failed()) return Types{};
  return Types{TensorType{result_type(c, {"self", "vec2"}), {a.shape[0], b.shape[0]}}};
}

OpDef dot(std::string schema) {
  OpDef d = contraction(std::move(schema), infer_dot, [](const Call& c) {
    return Contraction{.dtype = c.type(0).dtype, .a = {0, {~0}}, .b = {1, {~0}}, .inner = {c.type(0).shape[0].value()}};
  });
  d.decompose = [](const ir::Node& n, Builder& b) -> Values {
    ir::Value* row = b("aten.unsqueeze", {n.args()[0], 0});
    return b.done(
        {b("aten.squeeze.dims", {b("aten.mm", {row, b("aten.unsqueeze", {n.args()[1], 1})}), ir::Arg::ints({0, 1})})});
  };
  return d;
}

}  // namespace

std::vector<OpDef> define_mv() {
  OpDef mv = contraction("aten::mv(Tensor self, Tensor vec) -> Tensor", infer_mv, [](const Call& c) {
    return Contraction{
        .dtype = c.type(0).dtype, .a = {0, {0, ~0}}, .b = {1, {~0}}, .inner = {c.type(0).shape[1].value()}};
  });
  mv.decompose = [](const ir::Node& n, Builder& b) -> Values {
    return b.done({b("aten.squeeze.dim", {b("aten.mm", {n.arg("self"), b("aten.unsqueeze", {n.arg("vec"), 1})}), 1})});
  };
  OpDef outer = contraction("aten::outer(Tensor self, Tensor vec2) -> Tensor", infer_outer, [](const Call& c) {
    return Contraction{.dtype = result_type(c, {"self", "vec2"}), .a = {0, {0}}, .b = {1, {1}}};
  });
  outer.decompose = [](const ir::Node& n, Builder& b) -> Values {
    return b.done({b("aten.mul.Tensor", {b("aten.unsqueeze", {n.arg("self"), 1}), n.arg("vec2")})});
  };
  return {mv, dot("aten::dot(Tensor self, Tensor tensor) -> Tensor"),
          dot("aten::vdot(Tensor self, Tensor other) -> Tensor"), outer};
}
}  // namespace edgewright::ops
