// src/ops/remainder.cc - remainder of the division rounded down: the divisor's sign (Python's %). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_remainder() {
  const auto f = floats<2>([](auto a, auto b) {
                   return num::other(a, b, [](double x, double y) {
                     const double r = std::fmod(x, y);
                     return r != 0 && (r < 0) != (y < 0) ? r + y : r;
                   });
                 }).ints<2>([](int64_t a, int64_t b) { return wrap_sub(a, wrap_mul(int_div_floor(a, b), b)); });
  return {binary("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", f, "aten::remainder.Tensor_out"),
          binary("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", f, "aten::remainder.Scalar_out"),
          with_decompose(binary("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", f), numbers_to_tensors("aten.remainder.Tensor"))};
}

}  // namespace edgewright::ops
