// src/ops/item.cc - the number in a tensor of one element: _local_scalar_dense, item, is_nonzero. [item.1] One element. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

ir::ScalarKind kind_of(DType t) {
  return is_float(t) ? ir::ScalarKind::kFloat : is_bool(t) ? ir::ScalarKind::kBool : ir::ScalarKind::kInt;
}

}  // namespace

std::vector<OpDef> define_item() {
  OpDef d;
  d.schema_text = "aten::_local_scalar_dense(Tensor self) -> Scalar";
  d.infer = [](const Call& c) -> Result<Types> {
    const TensorType& t = c.type(0);
    const Dim n = ir::numel(t.shape);
    if (!is_number(t.dtype) || (n.is_constant() && n.value() != 1))
      return fail(Code::kUnsupported, "{}: [item.1] {} elements of {}", c.name(), n.str(), name(t.dtype));
    return Types{ir::ScalarType{kind_of(t.dtype), std::nullopt}};
  };
  d.numbers = [](const Call& c, std::span<const ir::Tensor> in) -> Result<std::vector<Scalar>> {
    if (in[0].numel() != 1) return fail(Code::kUnsupported, "{}: [item.1] {} elements", c.name(), in[0].numel());
    const ir::ScalarKind k = kind_of(in[0].dtype);
    return std::vector<Scalar>{{k, k == ir::ScalarKind::kFloat ? 0 : ir::load_i(in[0].dtype, in[0].data, 0),
                                ir::load_f(in[0].dtype, in[0].data, 0)}};
  };
  d.stock = "aten::_local_scalar_dense";
  OpDef nonzero = d;
  nonzero.schema_text = "aten::is_nonzero(Tensor self) -> bool";
  nonzero.stock = "";
  nonzero.infer = [rule = d.infer](const Call& c) -> Result<Types> {
    EW_TRY(rule(c));
    return Types{ir::ScalarType{ir::ScalarKind::kBool, std::nullopt}};
  };
  nonzero.numbers = [number = d.numbers](const Call& c, std::span<const ir::Tensor> in) -> Result<std::vector<Scalar>> {
    EW_ASSIGN(const std::vector<Scalar> v, number(c, in));
    return std::vector<Scalar>{{ir::ScalarKind::kBool, v[0].f != 0, static_cast<double>(v[0].f != 0)}};
  };
  OpDef item;
  item.schema_text = "aten::item(Tensor self) -> Scalar";
  item.infer = d.infer;
  item.numbers = d.numbers;
  item.decompose = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten._local_scalar_dense", {n.arg("self")})});
  };
  return {std::move(d), std::move(nonzero), std::move(item)};
}

}  // namespace edgewright::ops
