// src/ops/gelu.cc - x * Phi(x), with erf or the tanh approximation. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

constexpr double kSqrt2OverPi = 0.79788456080286535588, kCubic = 0.044715;

// XNNPACK's gelu is the one with erf; the other is composed.
Result<void> lower(const ir::Node& n, XnnEmitter& x) {
  const ir::Value* in = n.arg("self").value();
  const ir::Arg approximate = n.arg("approximate");
  if (!approximate.s() || *approximate.s() == "none") return x.unary(XnnUnary::kGelu, in, n.result());
  const TensorType t = result_type_of(n);
  const ir::Value *square = x.temporary(t), *scaled = x.temporary(t), *inner = x.temporary(t), *bent = x.temporary(t),
                  *half = x.temporary(t), *weight = x.temporary(t), *shifted = x.temporary(t);
  EW_TRY(x.unary(XnnUnary::kSquare, in, square));
  EW_TRY(x.binary(XnnBinary::kMultiply, square, static_cast<float>(kCubic * kSqrt2OverPi), scaled));
  EW_TRY(x.binary(XnnBinary::kAdd, scaled, static_cast<float>(kSqrt2OverPi), shifted));
  EW_TRY(x.binary(XnnBinary::kMultiply, shifted, in, inner));
  EW_TRY(x.unary(XnnUnary::kTanh, inner, bent));
  EW_TRY(x.binary(XnnBinary::kMultiply, bent, 0.5f, half));
  EW_TRY(x.binary(XnnBinary::kAdd, half, 0.5f, weight));
  return x.binary(XnnBinary::kMultiply, weight, in, n.result());
}

}  // namespace

std::vector<OpDef> define_gelu() {
  OpDef d = elementwise({.schema = "aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
                         .slots = {"self"},
                         .rule = Rule::kPromote,
                         .formula = {},
                         .choose = [](const Call& c) -> Formula {
                           const std::string a = c.str("approximate");
                           if (a == "tanh")
                             return floats<1>([](auto x) {
                               return decltype(x)(0.5) * x *
                                      (decltype(x)(1.0) +
                                       num::tanh(decltype(x)(kSqrt2OverPi) * (x + decltype(x)(kCubic) * x * x * x)));
                             });
                           if (a != "none") c.error(fmt::format("[gelu.1] approximate is '{}'", a));
                           return floats<1>([](auto x) {
                             return decltype(x)(0.5) * x * (decltype(x)(1.0) + num::erf(x * decltype(x)(M_SQRT1_2)));
                           });
                         },
                         .stock = "aten::gelu.out"});
  d.lower = lower;
  d.agreement = Agreement::kApproximate;
  return {std::move(d)};
}

}  // namespace edgewright::ops
