// src/ops/fmax.cc - elementwise maximum; the other operand where one is NaN. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_fmax() {
  return {with_decompose(
      binary("aten::fmax(Tensor self, Tensor other) -> Tensor",
             floats<2>([](auto a, auto b) {
               return num::value(a) != num::value(a) ? b : num::value(b) != num::value(b) ? a : num::maximum(a, b);
             }).ints<2>([](int64_t a, int64_t b) { return num::maximum(a, b); })),
      [](const ir::Node& n, Builder& b) {
        const ir::Arg l = n.arg("self"), r = n.arg("other");
        const ir::Arg larger = b("aten.maximum", {l, r});
        return b.done(
            {b("aten.where.self", {b("aten.isnan", {l}), r, b("aten.where.self", {b("aten.isnan", {r}), l, larger})})});
      })};
}

}  // namespace edgewright::ops
