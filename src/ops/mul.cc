// src/ops/mul.cc - self * other. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_mul() {
  const auto f =
      floats<2>([](auto a, auto b) { return a * b; }).ints<2>([](int64_t a, int64_t b) { return wrap_mul(a, b); });
  return {with_lower(binary("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", f, "aten::mul.out"),
                     lower_binary(XnnBinary::kMultiply), Agreement::kBitExact),
          with_lower(binary("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", f, "aten::mul.Scalar_out"),
                     lower_binary(XnnBinary::kMultiply), Agreement::kBitExact),
          renamed("aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor", "aten.mul.Tensor"),
          renamed("aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor", "aten.mul.Scalar")};
}

}  // namespace edgewright::ops
