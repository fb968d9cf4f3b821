// src/ops/sinc.cc - sin(pi x) / (pi x), 1 at 0. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_sinc() {
  return {unary_float("aten::sinc(Tensor self) -> Tensor", floats<1>([](auto x) { return num::other(x, [](double t) { return t == 0 ? 1.0 : std::sin(M_PI * t) / (M_PI * t); }); }))};
}

}  // namespace edgewright::ops
