// src/ops/int_mm.cc - a product of matrices of bytes in i32. Depends on ops/families.h.
#include "ops/dense.h"

namespace edgewright::ops {

std::vector<OpDef> define_int_mm() {
  OpDef d;
  d.schema_text = "aten::_int_mm(Tensor self, Tensor mat2) -> Tensor";
  // [int_mm.1] Matrices that fit; self may also be u8.
  d.infer = [](const Call& c) -> Result<Types> {
    const TensorType &a = c.tensor("self"), &b = c.tensor("mat2");
    if ((a.dtype != DType::i8 && a.dtype != DType::u8) || b.dtype != DType::i8 || a.rank() != 2 || b.rank() != 2 ||
        differ(a.shape[1], b.shape[0]))
      return fail(Code::kUnsupported, "{}: [int_mm.1] {} and {}", c.name(), ir::str(Type(a)), ir::str(Type(b)));
    return Types{TensorType{DType::i32, {a.shape[0], b.shape[1]}}};
  };
  d.decompose = [](const ir::Node& n, Builder& b) {
    const auto wide = [&](const char* p) { return b("aten._to_copy", {n.arg(p), DType::i32}); };
    ir::Value* x = wide("self");
    return b.done({b("aten.mm", {x, wide("mat2")})});
  };
  return {d};
}

}  // namespace edgewright::ops
