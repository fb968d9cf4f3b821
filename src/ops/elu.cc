// src/ops/elu.cc - exponential linear units: elu, selu, celu. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

constexpr double kSeluAlpha = 1.6732632423543772848170429916717, kSeluScale = 1.0507009873554804934193349852946;

// XNNPACK has alpha * (exp(x) - 1); a scale is one multiplication more.
Result<void> lower(const ir::Node& n, XnnEmitter& x) {
  const auto alpha = constant_number(n, "alpha"), scale = constant_number(n, "scale"),
             in = constant_number(n, "input_scale");
  if (!alpha || !scale || in != 1.0) return fail(Code::kKeptOnHost, "{}: XNNPACK's elu has no input scale", n.name());
  const ir::Value* self = n.arg("self").value();
  if (*scale == 1) return x.elu(self, n.result(), static_cast<float>(*alpha));
  const ir::Value* unscaled = x.temporary(result_type_of(n));
  EW_TRY(x.elu(self, unscaled, static_cast<float>(*alpha)));
  return x.binary(XnnBinary::kMultiply, unscaled, static_cast<float>(*scale), n.result());
}

}  // namespace

std::vector<OpDef> define_elu() {
  OpDef elu =
      elementwise({.schema = "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
                   .slots = {"self", cast("alpha"), cast("scale"), cast("input_scale")},
                   .rule = Rule::kPromote,
                   .formula = floats<4>([](auto x, auto alpha, auto scale, auto in) {
                     return num::branch(x, 0, alpha * scale * num::expm1(x * in), scale * x);
                   }),
                   .choose = {},
                   .stock = "aten::elu.out"});
  elu.lower = lower;
  elu.agreement = Agreement::kApproximate;
  OpDef celu = elementwise(
      {.schema = "aten::celu(Tensor self, Scalar alpha=1.) -> Tensor",
       .slots = {"self", cast("alpha")},
       .formula = floats<2>([](auto x, auto alpha) { return num::branch(x, 0, alpha * num::expm1(x / alpha), x); })});
  celu.infer = [rule = celu.infer](const Call& c) -> Result<Types> {
    if (c.f("alpha") == 0) return fail(Code::kUnsupported, "[celu.1] alpha is 0");
    return rule(c);
  };
  celu.decompose = [](const ir::Node& n, Builder& b) {
    const double alpha = constant_number(n, "alpha").value_or(1);
    return b.done({b("aten.elu", {n.arg("self"), alpha, 1.0, 1.0 / alpha})});
  };
  OpDef selu = elementwise({.schema = "aten::selu(Tensor self) -> Tensor",
                            .slots = {"self"},
                            .formula = floats<1>([](auto x) {
                              return num::branch(x, 0, decltype(x)(kSeluAlpha * kSeluScale) * num::expm1(x),
                                                 decltype(x)(kSeluScale) * x);
                            })});
  selu.decompose = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten.elu", {n.arg("self"), kSeluAlpha, kSeluScale, 1.0})});
  };
  return {std::move(elu), std::move(celu), std::move(selu)};
}

}  // namespace edgewright::ops
