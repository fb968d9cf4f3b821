// src/ops/convert_element_type.cc - a cast that quantization flows keep apart from others. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

OpDef conversion(std::string schema, std::string self) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = [self](const Call& c) -> Result<Types> {
    TensorType t = c.tensor(self);
    const DType to = c.dtype("dtype").value_or(t.dtype);
    if (t.dtype != to && (!is_number(t.dtype) || !is_number(to)))
      c.error(fmt::format("[convert_element_type.1] from {} to {}", name(t.dtype), name(to)));
    t.dtype = to;
    return Types{t};
  };
  d.decompose = [self](const ir::Node& n, Builder& b) {
    ir::Value* x = n.arg(self).value();
    return b.done(
        {x->type == n.result()->type ? b("aten.clone", {x}) : b("aten._to_copy", {x, n.result()->tensor()->dtype})});
  };
  return d;
}

}  // namespace

std::vector<OpDef> define_convert_element_type() {
  return {conversion("quantized_decomposed::convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor",
                     "input"),
          conversion("prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor", "a")};
}

}  // namespace edgewright::ops
