// src/ops/isclose.cc - |self - other| <= atol + rtol * |other|, or equal; NaN equals NaN where equal_nan. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
std::vector<OpDef> define_isclose() {
  OpDef d = elementwise(
      {.schema = "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool "
                 "equal_nan=False) -> Tensor",
       .slots = {"self", "other", cast("rtol"), cast("atol"), cast("equal_nan")},
       .rule = Rule::kBool,
       .formula = tests<5>([](double a, double b, double rtol, double atol, double nan) {
                    return a == b || (nan != 0 && a != a && b != b) ||
                           (std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) <= atol + std::fabs(rtol * b));
                  }).ints<5>([](int64_t a, int64_t b, int64_t, int64_t, int64_t) { return a == b; })});
  d.decompose = [](const ir::Node& n, Builder& b) {
    const ir::Arg x = n.arg("self"), y = n.arg("other");
    ir::Value* same = b("aten.eq.Tensor", {x, y});
    if (!is_float(x.value()->tensor()->dtype)) return b.done({same});
    if (constant_number(n, "equal_nan").value_or(0) != 0)
      same = b("aten.logical_or", {same, b("aten.logical_and", {b("aten.isnan", {x}), b("aten.isnan", {y})})});
    ir::Value* apart = b("aten.abs", {b("aten.sub.Tensor", {x, y})});
    ir::Value* allowed =
        b("aten.add.Scalar", {b("aten.abs", {b("aten.mul.Scalar", {y, n.arg("rtol")})}), n.arg("atol")});
    // An infinity is near nothing but itself: the difference is infinite or NaN, and an infinite allowance does not count.
    ir::Value* near = b("aten.logical_and", {b("aten.le.Tensor", {apart, allowed}), b("aten.isfinite", {allowed})});
    return b.done({b("aten.logical_or", {same, near})});
  };
  return {std::move(d)};
}

}  // namespace edgewright::ops
