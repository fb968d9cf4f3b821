// src/ops/one_hot.cc - 1 at each class number, along a new last dim. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_one_hot() {
  OpDef d;
  d.schema_text = "aten::one_hot(Tensor self, int num_classes=-1) -> Tensor";
  // [one_hot.1] i64, and the number of classes is given (otherwise the shape depends on the data).
  d.infer = [](const Call& c) -> Result<Types> {
    TensorType t = c.type(0);
    const Dim n = c.dim("num_classes");
    if (t.dtype != DType::i64 || (n.is_constant() && n.value() < 1))
      return fail(Code::kUnsupported, "[one_hot.1] self is {}, {} classes", name(t.dtype), n.str());
    t.shape.push_back(n);
    return Types{t};
  };
  d.eval = [](const Call&, size_t) -> Result<Point> {
    return int_point([](const In& in, Index at) { return int64_t{in.i(0, at.first(at.size() - 1)) == at.back()}; });
  };
  d.decompose = [](const ir::Node& n, Builder& b) {
    ir::Value* classes = b("aten.arange", {n.arg("num_classes")});
    return b.done(
        {b("aten._to_copy", {b("aten.eq.Tensor", {b("aten.unsqueeze", {n.arg("self"), -1}), classes}), DType::i64})});
  };
  return {std::move(d)};
}

}  // namespace edgewright::ops
