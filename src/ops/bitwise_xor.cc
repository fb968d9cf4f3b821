// src/ops/bitwise_xor.cc - a ^ b on ints and bools; also Python's operator method. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_bitwise_xor() {
  const auto f = ints<2>([](int64_t a, int64_t b) { return a ^ b; });
  const auto same = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten.bitwise_xor.Tensor", {n.arg("self"), n.arg("other")})});
  };
  return {binary("aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", f, "aten::bitwise_xor.Tensor_out"),
          binary("aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", f, "aten::bitwise_xor.Scalar_out"),
          with_decompose(binary("aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", f),
                         [](const ir::Node& n, Builder& b) {
                           return b.done({b("aten.bitwise_xor.Scalar", {n.arg("other"), n.arg("self")})});
                         }),
          with_decompose(binary("aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor", f), same),
          with_decompose(binary("aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor", f), same)};
}

}  // namespace edgewright::ops
