// src/ops/reciprocal.cc - 1 / x. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_reciprocal() {
  return {with_lower(
      unary_float("aten::reciprocal(Tensor self) -> Tensor", floats<1>([](auto x) { return decltype(x)(1.0) / x; }),
                  "aten::reciprocal.out"),
      [](const ir::Node& n, XnnEmitter& x) {
        return x.binary(XnnBinary::kDivide, 1.0f, n.arg("self").value(), n.result());
      },
      Agreement::kBitExact)};
}

}  // namespace edgewright::ops
