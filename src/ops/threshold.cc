// src/ops/threshold.cc - value where self <= threshold, self elsewhere. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_threshold() {
  OpDef d = elementwise({.schema = "aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor",
                         .slots = {"self", cast("threshold"), cast("value")},
                         .rule = Rule::kPromote,
                         .formula = floats<3>([](auto x, auto t, auto v) {
                                      return num::unless_certain(num::value(x) <= num::value(t) ? v : x,
                                                                 num::certain(x, num::value(t)));
                                    }).ints<3>([](int64_t x, int64_t t, int64_t v) { return x <= t ? v : x; })});
  d.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    if (constant_number(n, "threshold") == 0.0 && constant_number(n, "value") == 0.0)
      return b.done({b("aten.relu", {n.arg("self")})});
    // Beside ints both are ints, and must not promote.
    const DType type = n.result()->tensor()->dtype;
    const auto as_element = [&](const char* param) {
      const ir::Arg a = n.arg(param);
      return a.f() && !is_float(type) ? ir::Arg(float_to_int(*a.f())) : a;
    };
    return b.done({b("aten.where.ScalarSelf", {b("aten.le.Scalar", {n.arg("self"), as_element("threshold")}),
                                               as_element("value"), n.arg("self")})});
  };
  return {std::move(d)};
}

}  // namespace edgewright::ops
