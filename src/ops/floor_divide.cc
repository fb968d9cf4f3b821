// src/ops/floor_divide.cc - self / other, rounded down (Python's //). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_floor_divide() {
  return {binary("aten::floor_divide(Tensor self, Tensor other) -> Tensor", floor_division(), "aten::floor_divide.out"),
          with_decompose(binary("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", floor_division()),
                         [](const ir::Node& n, Builder& b) {
                           return b.done({b("aten.div.Scalar_mode", {n.arg("self"), n.arg("other"), "floor"})});
                         })};
}

}  // namespace edgewright::ops
