// src/ops/prelu.cc - self where positive, weight * self elsewhere; one weight, or one per channel (dim 1). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_prelu() {
  OpDef kernel = elementwise({.schema = "aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
                              .slots = {"self", "weight"},
                              .rule = Rule::kPromote,
                              .formula = floats<2>([](auto x, auto w) { return num::branch(x, 0, w * x, x); })});
  kernel.lower = [](const ir::Node& n, XnnEmitter& x) {
    return x.binary(XnnBinary::kPrelu, n.arg("self").value(), n.arg("weight").value(), n.result());
  };
  kernel.decompose = [](const ir::Node& n, Builder& b) {
    const ir::Arg x = n.arg("self");
    return b.done({b("aten.where.self", {b("aten.gt.Scalar", {x, 0}), x, b("aten.mul.Tensor", {x, n.arg("weight")})})});
  };
  OpDef d;
  d.schema_text = "aten::prelu(Tensor self, Tensor weight) -> Tensor";
  d.infer = [](const Call& c) -> Result<Types> {
    const TensorType &x = c.tensor("self"), &w = c.tensor("weight");
    if (!is_float(x.dtype) || w.dtype != x.dtype)
      return fail(Code::kUnsupported, "[prelu.1] self is {}, weight is {}", name(x.dtype), name(w.dtype));
    const Dim channels = x.rank() > 1 ? x.shape[1] : Dim(1), count = ir::numel(w.shape);
    if (w.rank() > 1 || (count.is_constant() && channels.is_constant() && count != Dim(1) && count != channels))
      return fail(Code::kUnsupported, "[prelu.2] {} weights for {} channels", count.str(), channels.str());
    return Types{x};
  };
  d.decompose = [](const ir::Node& n, Builder& b) {
    ir::Value* w = n.arg("weight").value();
    // A weight per channel gets ones behind it, so that it broadcasts along dim 1.
    const size_t rank = n.result()->tensor()->rank();
    if (w->tensor()->rank() == 1 && rank > 2)
      w = b("aten.view", {w, [&] {
                            ir::ArgList sizes(rank - 1, ir::Arg(1));
                            sizes[0] = -1;
                            return sizes;
                          }()});
    return b.done({b("aten._prelu_kernel", {n.arg("self"), w})});
  };
  return {std::move(d), std::move(kernel)};
}

}  // namespace edgewright::ops
