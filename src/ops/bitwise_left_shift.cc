// src/ops/bitwise_left_shift.cc - shifts ints left; a negative or too wide shift gives 0. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_bitwise_left_shift() {
  const auto f = ints<2>([](int64_t a, int64_t b) {
    return b < 0 || b > 63 ? int64_t{0} : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  });
  const auto same = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten.bitwise_left_shift.Tensor", {n.arg("self"), n.arg("other")})});
  };
  return {binary("aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", f,
                 "aten::bitwise_left_shift.Tensor_out"),
          binary("aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", f,
                 "aten::bitwise_left_shift.Tensor_Scalar_out"),
          with_decompose(binary("aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", f), same),
          with_decompose(binary("aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", f), same)};
}

}  // namespace edgewright::ops
