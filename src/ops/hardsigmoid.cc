// src/ops/hardsigmoid.cc - min(max(x + 3, 0), 6) / 6. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_hardsigmoid() {
  OpDef d = unary_same("aten::hardsigmoid(Tensor self) -> Tensor", floats<1>([](auto x) {
                         return num::minimum(num::maximum(x + decltype(x)(3.0), decltype(x)(0.0)), decltype(x)(6.0)) /
                                decltype(x)(6.0);
                       }));
  d.lower = [](const ir::Node& n, XnnEmitter& x) -> Result<void> {
    const ir::Value* clamped = x.temporary(result_type_of(n));
    EW_TRY(x.binary(XnnBinary::kAdd, n.arg("self").value(), 3.0f, clamped, {.min = 0, .max = 6}));
    return x.binary(XnnBinary::kDivide, clamped, 6.0f, n.result());
  };
  d.decompose = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten.div.Scalar", {b("aten.hardtanh", {b("aten.add.Scalar", {n.arg("self"), 3}), 0, 6}), 6})});
  };
  d.agreement = Agreement::kEqual;
  return {std::move(d)};
}

}  // namespace edgewright::ops
