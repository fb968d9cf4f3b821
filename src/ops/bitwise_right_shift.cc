// src/ops/bitwise_right_shift.cc - shifts ints right; a negative or too wide shift gives the sign. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_bitwise_right_shift() {
  const auto f =
      ints<2>([](int64_t a, int64_t b) { return b < 0 || b > 63 ? a < 0 ? int64_t{-1} : int64_t{0} : a >> b; });
  const auto same = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten.bitwise_right_shift.Tensor", {n.arg("self"), n.arg("other")})});
  };
  return {binary("aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", f,
                 "aten::bitwise_right_shift.Tensor_out"),
          binary("aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", f,
                 "aten::bitwise_right_shift.Tensor_Scalar_out"),
          with_decompose(binary("aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", f), same),
          with_decompose(binary("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", f), same)};
}

}  // namespace edgewright::ops
