// src/ops/threshold.cc - value where self <= threshold, self elsewhere. Depends on ops/element_arg.h.
// [threshold.1] Not on bools.
#include "ops/element_arg.h"

namespace edgewright::ops {

std::vector<OpDef> define_threshold() {
  OpDef d = elementwise({.schema = "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
                         .slots = {"self", cast("threshold"), cast("value")},
                         .rule = Rule::kPromote,
                         .formula = floats<3>([](auto x, auto t, auto v) {
                                      return num::unless_certain(num::value(x) <= num::value(t) ? v : x,
                                                                 num::certain(x, num::value(t)));
                                    }).ints<3>([](int64_t x, int64_t t, int64_t v) { return x <= t ? v : x; })});
  d.infer = [rule = d.infer](const Call& c) -> Result<Types> {
    if (is_bool(c.tensor("self").dtype)) return fail(Code::kUnsupported, "[threshold.1] self is bool");
    return rule(c);
  };
  d.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    if (constant_number(n, "threshold") == 0.0 && constant_number(n, "value") == 0.0)
      return b.done({b("aten.relu", {n.arg("self")})});
    return b.done({b("aten.where.ScalarSelf", {b("aten.le.Scalar", {n.arg("self"), element_arg(n, "threshold")}),
                                               element_arg(n, "value"), n.arg("self")})});
  };
  return {std::move(d)};
}

}  // namespace edgewright::ops
