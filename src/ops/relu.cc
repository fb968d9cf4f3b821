// src/ops/relu.cc - max(self, 0); NaN stays. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_relu() {
  OpDef six;
  six.schema_text = "aten::relu6(Tensor self) -> Tensor";
  six.infer = infer_same;
  six.decompose = [](const ir::Node& n, Builder& b) { return b.done({b("aten.hardtanh", {n.arg("self"), 0, 6})}); };
  return {with_lower(unary_same("aten::relu(Tensor self) -> Tensor",
                                floats<1>([](auto x) {
                                  return num::maximum(x, decltype(x)(0.0));
                                }).ints<1>([](int64_t x) { return num::maximum(x, int64_t{0}); }),
                                "aten::relu.out"),
                     [](const ir::Node& n, XnnEmitter& x) {
                       return x.clamp(n.arg("self").value(), n.result(), {.min = 0, .max = INFINITY});
                     }),
          std::move(six)};
}

}  // namespace edgewright::ops
