// src/ops/fmod.cc - remainder of the division rounded towards zero: the dividend's sign (C's fmod). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_fmod() {
  const auto f = floats<2>([](auto a, auto b) {
                   return num::other(a, b, [](double x, double y) { return std::fmod(x, y); });
                 }).ints<2>([](int64_t a, int64_t b) { return wrap_sub(a, wrap_mul(int_div_trunc(a, b), b)); });
  return {binary("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", f, "aten::fmod.Tensor_out"),
          binary("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", f, "aten::fmod.Scalar_out")};
}

}  // namespace edgewright::ops
