// src/ops/fmin.cc - elementwise minimum; the other operand where one is NaN. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_fmin() {
  return {with_decompose(
      binary("aten::fmin(Tensor self, Tensor other) -> Tensor",
             floats<2>([](auto a, auto b) {
               return num::value(a) != num::value(a) ? b : num::value(b) != num::value(b) ? a : num::minimum(a, b);
             }).ints<2>([](int64_t a, int64_t b) { return num::minimum(a, b); })),
      [](const ir::Node& n, Builder& b) {
        const ir::Arg l = n.arg("self"), r = n.arg("other");
        const ir::Arg larger = b("aten.minimum", {l, r});
        return b.done(
            {b("aten.where.self", {b("aten.isnan", {l}), r, b("aten.where.self", {b("aten.isnan", {r}), l, larger})})});
      })};
}

}  // namespace edgewright::ops
