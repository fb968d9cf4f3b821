// src/ops/bitwise_and.cc - a & b on ints and bools; also Python's operator method. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_bitwise_and() {
  const auto f = ints<2>([](int64_t a, int64_t b) { return a & b; });
  const auto same = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten.bitwise_and.Tensor", {n.arg("self"), n.arg("other")})});
  };
  return {binary("aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", f, "aten::bitwise_and.Tensor_out"),
          binary("aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", f, "aten::bitwise_and.Scalar_out"),
          with_decompose(binary("aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", f),
                         [](const ir::Node& n, Builder& b) {
                           return b.done({b("aten.bitwise_and.Scalar", {n.arg("other"), n.arg("self")})});
                         }),
          with_decompose(binary("aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor", f), same),
          with_decompose(binary("aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor", f), same)};
}

}  // namespace edgewright::ops
