// src/ops/glu.cc - first half * sigmoid(second half) along dim. [glu.1] the size is even. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_glu() {
  OpDef d;
  d.schema_text = "aten::glu(Tensor self, int dim=-1) -> Tensor";
  d.stock = "aten::glu.out";
  d.infer = [](const Call& c) -> Result<Types> {
    TensorType t = c.type(0);
    const auto k = static_cast<size_t>(c.axis("dim", static_cast<int64_t>(t.rank())));
    if (!is_float(t.dtype) || t.rank() == 0)
      return fail(Code::kUnsupported, "[op.1] self is {} of rank {}", name(t.dtype), t.rank());
    if (t.shape[k].is_constant() && t.shape[k].value() % 2)
      return fail(Code::kUnsupported, "[glu.1] size {} is odd", t.shape[k].str());
    t.shape[k] = floordiv(t.shape[k], Dim(2));
    return Types{t};
  };
  d.eval = [](const Call& c, size_t) -> Result<Point> {
    const TensorType& t = c.type(0);
    const auto k = static_cast<size_t>(c.axis("dim", static_cast<int64_t>(t.rank())));
    return float_point([k, half = t.shape[k].value() / 2](const auto& in, Index at) {
      IndexBuffer gate;
      std::copy(at.begin(), at.end(), gate.begin());
      gate[k] += half;
      return in.f(0, at) * num::sigmoid(in.f(0, {gate.data(), at.size()}));
    });
  };
  d.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const TensorType& t = *n.arg("self").value()->tensor();
    const ir::Arg dim = n.arg("dim");
    const int64_t k = dim.i() ? (*dim.i() < 0 ? *dim.i() + static_cast<int64_t>(t.rank()) : *dim.i()) : 0;
    const Dim& size = t.shape[static_cast<size_t>(k)];
    if (!size.is_constant()) return std::vector<ir::Value*>{};
    const int64_t half = size.value() / 2;
    ir::Value* a = b("aten.slice.Tensor", {n.arg("self"), k, 0, half});
    ir::Value* gate = b("aten.slice.Tensor", {n.arg("self"), k, half, 2 * half});
    return b.done({b("aten.mul.Tensor", {a, b("aten.sigmoid", {gate})})});
  };
  return {std::move(d)};
}

}  // namespace edgewright::ops
