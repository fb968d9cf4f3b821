// src/ops/sizes.cc - sizes and strides as Python numbers: sym_size, sym_numel, sym_stride, sym_storage_offset. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_sizes() {
  std::vector<OpDef> all;
  const auto add = [&](const char* schema, Dim (*of)(const Call&), const char* stock) {
    OpDef d;
    d.schema_text = schema;
    d.infer = [of](const Call& c) -> Result<Types> { return Types{ir::ScalarType{ir::ScalarKind::kInt, of(c)}}; };
    d.numbers = [of](const Call& c, std::span<const ir::Tensor>) -> Result<std::vector<Scalar>> {
      const Dim n = of(c);
      if (!n.is_constant()) return fail(Code::kUnsupported, "{}: a size is not known", c.name());
      return std::vector<Scalar>{{ir::ScalarKind::kInt, n.value(), static_cast<double>(n.value())}};
    };
    d.stock = stock;
    all.push_back(std::move(d));
  };
  const auto size = [](const Call& c) -> Dim {
    const auto k = static_cast<size_t>(c.axis("dim", c.rank("self")));
    if (k >= c.type(0).rank()) c.error("[sym_size.1] a 0-dim tensor has no sizes");
    return k < c.type(0).rank() ? c.type(0).shape[k] : Dim(0);
  };
  const auto numel = [](const Call& c) { return ir::numel(c.type(0).shape); };
  // Of a contiguous tensor: the layout in memory is no part of a value here.
  const auto stride = [](const Call& c) {
    Dim s = 1;
    for (auto k = static_cast<size_t>(c.axis("dim", c.rank("self"))) + 1; k < c.type(0).rank(); ++k)
      s = s * c.type(0).shape[k];
    return s;
  };
  add("aten::sym_size.int(Tensor self, int dim) -> SymInt", size, "aten::sym_size.int");
  add("aten::size.int(Tensor self, int dim) -> int", size, "aten::sym_size.int");
  add("aten::sym_numel(Tensor self) -> SymInt", numel, "aten::sym_numel");
  add("aten::numel(Tensor self) -> int", numel, "aten::sym_numel");
  add("aten::sym_stride.int(Tensor self, int dim) -> SymInt", stride, "");
  add("aten::sym_storage_offset(Tensor self) -> SymInt", [](const Call&) { return Dim(0); }, "");
  return all;
}

}  // namespace edgewright::ops
