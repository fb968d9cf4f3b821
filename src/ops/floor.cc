// src/ops/floor.cc - rounds down; ints stay. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_floor() {
  return {with_lower(unary_same("aten::floor(Tensor self) -> Tensor", floats<1>([](auto x) {
                                                                        return num::step(
                                                                            x, [](double t) { return std::floor(t); });
                                                                      }).ints<1>([](int64_t x) { return x; }),
                                "aten::floor.out"),
                     lower_unary(XnnUnary::kFloor), Agreement::kBitExact)};
}

}  // namespace edgewright::ops
