// src/ops/heaviside.cc - 0 below 0, 1 above, values at 0. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
std::vector<OpDef> define_heaviside() {
  OpDef d = elementwise({.schema = "aten::heaviside(Tensor self, Tensor values) -> Tensor",
                         .slots = {"self", "values"},
                         .rule = Rule::kPromote,
                         .formula = floats<2>([](auto x, auto v) {
                                      return num::value(x) == 0 ? v
                                                                : num::unless_certain(decltype(x)(num::value(x) > 0),
                                                                                      num::certain(x, 0));
                                    }).ints<2>([](int64_t x, int64_t v) { return x == 0 ? v : int64_t{x > 0}; })});
  d.decompose = [](const ir::Node& n, Builder& b) {
    const ir::Arg x = n.arg("self");
    ir::Value* above = b("aten._to_copy", {b("aten.gt.Scalar", {x, 0}), n.result()->tensor()->dtype});
    return b.done({b("aten.where.self", {b("aten.eq.Scalar", {x, 0}), n.arg("values"), above})});
  };
  return {std::move(d)};
}

}  // namespace edgewright::ops
