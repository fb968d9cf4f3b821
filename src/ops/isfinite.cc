// src/ops/isfinite.cc - whether an element is neither NaN nor an infinity. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_isfinite() {
  return {with_decompose(
      elementwise(
          {.schema = "aten::isfinite(Tensor self) -> Tensor",
           .slots = {"self"},
           .rule = Rule::kBool,
           .formula = tests<1>([](double x) { return std::isfinite(x); }).ints<1>([](int64_t) { return int64_t{1}; }),
           .choose = {}}),
      [](const ir::Node& n, Builder& b) {
        return b.done({b("aten.logical_not", {b("aten.logical_or", {b("aten.isnan", {n.arg("self")}),
                                                                    b("aten.isinf", {n.arg("self")})})})});
      })};
}

}  // namespace edgewright::ops
