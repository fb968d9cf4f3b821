// src/ops/silu.cc - x * sigmoid(x). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_silu() {
  OpDef d = unary_same("aten::silu(Tensor self) -> Tensor", floats<1>([](auto x) { return x * num::sigmoid(x); }));
  d.lower = [](const ir::Node& n, XnnEmitter& x) -> Result<void> {
    const ir::Value *in = n.arg("self").value(), *s = x.temporary(result_type_of(n));
    EW_TRY(x.unary(XnnUnary::kSigmoid, in, s));
    return x.binary(XnnBinary::kMultiply, in, s, n.result());
  };
  d.decompose = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten.mul.Tensor", {n.arg("self"), b("aten.sigmoid", {n.arg("self")})})});
  };
  d.agreement = Agreement::kApproximate;
  return {std::move(d)};
}

}  // namespace edgewright::ops
