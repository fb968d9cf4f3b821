// src/ops/hardswish.cc - x * min(max(x + 3, 0), 6) / 6. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_hardswish() {
  OpDef d = unary_same("aten::hardswish(Tensor self) -> Tensor", floats<1>([](auto x) {
                         return x *
                                num::minimum(num::maximum(x + decltype(x)(3.0), decltype(x)(0.0)), decltype(x)(6.0)) /
                                decltype(x)(6.0);
                       }));
  d.lower = lower_unary(XnnUnary::kHardswish);
  d.decompose = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten.mul.Tensor", {n.arg("self"), b("aten.hardsigmoid", {n.arg("self")})})});
  };
  d.agreement = Agreement::kReassociated;
  return {std::move(d)};
}

}  // namespace edgewright::ops
