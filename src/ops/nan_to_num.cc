// src/ops/nan_to_num.cc - NaN and infinities replaced; by default by 0 and the dtype's extremes. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

constexpr double kLargest[] = {0x1.fffffffffffffp1023, 65504.0, 0x1.fep127, 0x1.fffffep127};

template <int k>
Formula replace() {
  return floats<4>([](auto x, auto nan, auto high, auto low) {
    const double v = num::value(x);
    if (v != v) return nan;
    if (v == INFINITY) return num::value(high) == INFINITY ? decltype(x)(kLargest[k]) : high;
    if (v == -INFINITY) return num::value(low) == -INFINITY ? decltype(x)(-kLargest[k]) : low;
    return x;
  });
}

}  // namespace

std::vector<OpDef> define_nan_to_num() {
  const auto edge = [](double v) { return Scalar{ir::ScalarKind::kFloat, 0, v}; };
  OpDef d = elementwise(
      {.schema = "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
       .slots = {"self", Slot("nan", Slot::kCast, edge(0)), Slot("posinf", Slot::kCast, edge(INFINITY)),
                 Slot("neginf", Slot::kCast, edge(-INFINITY))},
       .rule = Rule::kPromote,
       .formula = {},
       .choose = [](const Call& c) -> Formula {
         const auto ints = [](const Formula& f) {
           return f.ints<4>([](int64_t x, int64_t, int64_t, int64_t) { return x; });
         };
         // An infinity as a replacement means "the dtype's largest" here: None is not distinguished from it
         // by value, and replacing an infinity by itself changes nothing.
         switch (c.type(0).dtype) {
           case DType::f64: return ints(replace<0>());
           case DType::f16: return ints(replace<1>());
           case DType::bf16: return ints(replace<2>());
           default: return ints(replace<3>());
         }
       }});
  d.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const ir::Arg x = n.arg("self");
    const DType t = n.result()->tensor()->dtype;
    if (!is_float(t)) return b.done({x.value()});
    const double largest = kLargest[t == DType::f64 ? 0 : t == DType::f16 ? 1 : t == DType::bf16 ? 2 : 3];
    ir::Value* y = b("aten.where.ScalarSelf", {b("aten.isnan", {x}), constant_number(n, "nan").value_or(0), x});
    y = b("aten.where.ScalarSelf",
          {b("aten.eq.Scalar", {x, INFINITY}), constant_number(n, "posinf").value_or(largest), y});
    y = b("aten.where.ScalarSelf",
          {b("aten.eq.Scalar", {x, -INFINITY}), constant_number(n, "neginf").value_or(-largest), y});
    return b.done({y});
  };
  return {std::move(d)};
}

}  // namespace edgewright::ops
