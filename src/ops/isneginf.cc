// src/ops/isneginf.cc - whether an element is -infinity. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_isneginf() {
  return {with_decompose(
      elementwise(
          {.schema = "aten::isneginf(Tensor self) -> Tensor",
           .slots = {"self"},
           .rule = Rule::kBool,
           .formula = tests<1>([](double x) { return x == -INFINITY; }).ints<1>([](int64_t) { return int64_t{0}; }),
           .choose = {}}),
      [](const ir::Node& n, Builder& b) {
        return b.done(
            {b("aten.logical_and", {b("aten.isinf", {n.arg("self")}), b("aten.lt.Scalar", {n.arg("self"), 0})})});
      })};
}

}  // namespace edgewright::ops
