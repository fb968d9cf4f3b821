// src/ops/exp2.cc - 2 to the power of each element. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_exp2() {
  return {with_decompose(
              unary_float("aten::exp2(Tensor self) -> Tensor", floats<1>([](auto x) { return num::exp2(x); })),
              [](const ir::Node& n, Builder& b) { return b.done({b("aten.pow.Scalar", {2.0, n.arg("self")})}); }),
          renamed("aten::special_exp2(Tensor self) -> Tensor", "aten.exp2")};
}

}  // namespace edgewright::ops
