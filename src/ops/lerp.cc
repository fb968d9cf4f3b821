// src/ops/lerp.cc - self + weight * (end - self). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_lerp() {
  const auto of = [](const char* schema) {
    OpDef d = elementwise({.schema = schema,
                           .slots = {"self", "end", cast("weight")},
                           .rule = Rule::kPromote,
                           .formula = floats<3>([](auto a, auto b, auto w) {
                             return std::fabs(num::value(w)) < 0.5
                                        ? a + w * (b - a)
                                        : b - (b - a) * (decltype(w)(1.0) - w);  // PyTorch's, exact at both ends
                           })});
    d.decompose = [](const ir::Node& n, Builder& b) {
      const ir::Arg self = n.arg("self");
      return b.done({b("aten.add.Tensor",
                       {self, b("aten.mul.Tensor", {b("aten.sub.Tensor", {n.arg("end"), self}), n.arg("weight")})})});
    };
    return d;
  };
  return {of("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor"),
          of("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor")};
}

}  // namespace edgewright::ops
