// src/ops/clamp.cc - min(max(self, min), max); NaN stays, and a NaN bound spreads. Bounds are numbers or tensors, either may be None. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

Result<void> lower(const ir::Node& n, XnnEmitter& x) {
  const ir::Arg lo = n.arg("min"), hi = n.arg("max");
  const ir::Value *in = n.arg("self").value(), *out = n.result();
  const auto min = lo.is_none() ? -INFINITY : constant_number(n, "min"),
             max = hi.is_none() ? INFINITY : constant_number(n, "max");
  if (min && max) {
    const Clamp c{static_cast<float>(*min), static_cast<float>(*max)};
    // A clamp with crossed bounds is a constant fill, which PyTorch has as max.
    if (!(c.min <= c.max))
      return fail(Code::kKeptOnHost, "{}: clamp needs min <= max, got {} and {}", n.name(), c.min, c.max);
    return x.clamp(in, out, c);
  }
  const ir::Value *low = lo.value(), *high = hi.value();
  if ((!lo.is_none() && !low) || (!hi.is_none() && !high))
    return fail(Code::kKeptOnHost, "{}: one bound is a tensor, the other a number", n.name());
  const ir::Value* raised = in;
  if (low) {
    raised = high ? x.temporary(result_type_of(n)) : out;
    EW_TRY(x.binary(XnnBinary::kMaximum, in, low, raised));
  }
  if (high) return x.binary(XnnBinary::kMinimum, raised, high, out);
  return {};
}

}  // namespace

std::vector<OpDef> define_clamp() {
  const auto f = Formula::both<3>([](auto x, auto lo, auto hi) { return num::minimum(num::maximum(x, lo), hi); });
  const auto of = [&](const char* schema, const char* stock) {
    OpDef d = elementwise({.schema = schema,
                           .slots = {"self", maybe("min", kLowest), maybe("max", kHighest)},
                           .rule = Rule::kPromote,
                           .formula = f,
                           .choose = {},
                           .stock = stock});
    d.lower = lower;
    d.agreement = Agreement::kEqual;
    return d;
  };
  const auto one_sided = [](const char* schema, const char* bound, const char* whole) {
    OpDef d = elementwise({.schema = schema,
                           .slots = {"self", bound},
                           .rule = Rule::kPromote,
                           .formula = std::string_view(bound) == "min"
                                          ? Formula::both<2>([](auto a, auto b) { return num::maximum(a, b); })
                                          : Formula::both<2>([](auto a, auto b) { return num::minimum(a, b); })});
    d.decompose = [bound, whole](const ir::Node& n, Builder& b) {
      const bool is_min = std::string_view(bound) == "min";
      return b.done({b(whole, {n.arg("self"), is_min ? n.arg(bound) : ir::Arg(), is_min ? ir::Arg() : n.arg(bound)})});
    };
    return d;
  };
  return {of("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", "aten::clamp.out"),
          of("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", "aten::clamp.Tensor_out"),
          one_sided("aten::clamp_min(Tensor self, Scalar min) -> Tensor", "min", "aten.clamp"),
          one_sided("aten::clamp_max(Tensor self, Scalar max) -> Tensor", "max", "aten.clamp"),
          one_sided("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", "min", "aten.clamp.Tensor"),
          one_sided("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", "max", "aten.clamp.Tensor"),
          renamed("aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", "aten.clamp"),
          renamed("aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", "aten.clamp.Tensor")};
}

}  // namespace edgewright::ops
