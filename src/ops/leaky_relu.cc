// src/ops/leaky_relu.cc - self where positive, negative_slope * self elsewhere. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_leaky_relu() {
  OpDef d = elementwise({.schema = "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor",
                         .slots = {"self", cast("negative_slope")},
                         .rule = Rule::kPromote,
                         .formula = floats<2>([](auto x, auto slope) { return num::branch(x, 0, slope * x, x); }),
                         .choose = {},
                         .stock = "aten::leaky_relu.out"});
  d.lower = [](const ir::Node& n, XnnEmitter& x) -> Result<void> {
    const auto slope = constant_number(n, "negative_slope");
    if (!slope) return fail(Code::kKeptOnHost, "{}: the slope is known only at run time", n.name());
    return x.leaky_relu(n.arg("self").value(), n.result(), static_cast<float>(*slope));
  };
  // Inference only: the random slope of training is its mean here.
  OpDef random;
  random.schema_text =
      "aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? "
      "generator=None) -> Tensor";
  random.infer = [](const Call& c) -> Result<Types> {
    if (c.flag("training")) return fail(Code::kUnsupported, "[rrelu.1] training mode is random");
    return infer_same(c);
  };
  random.decompose = [](const ir::Node& n, Builder& b) {
    return b.done(
        {b("aten.leaky_relu",
           {n.arg("self"), (constant_number(n, "lower").value_or(0) + constant_number(n, "upper").value_or(0)) / 2})});
  };
  d.agreement = Agreement::kBitExact;
  return {std::move(d), std::move(random)};
}

}  // namespace edgewright::ops
