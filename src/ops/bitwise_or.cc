// src/ops/bitwise_or.cc - a | b on ints and bools; also Python's operator method. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_bitwise_or() {
  const auto f = ints<2>([](int64_t a, int64_t b) { return a | b; });
  const auto same = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten.bitwise_or.Tensor", {n.arg("self"), n.arg("other")})});
  };
  return {binary("aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", f, "aten::bitwise_or.Tensor_out"),
          binary("aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", f, "aten::bitwise_or.Scalar_out"),
          with_decompose(binary("aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", f),
                         [](const ir::Node& n, Builder& b) {
                           return b.done({b("aten.bitwise_or.Scalar", {n.arg("other"), n.arg("self")})});
                         }),
          with_decompose(binary("aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor", f), same),
          with_decompose(binary("aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor", f), same)};
}

}  // namespace edgewright::ops
