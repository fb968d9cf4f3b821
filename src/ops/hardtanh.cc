// src/ops/hardtanh.cc - min(max(self, min_val), max_val). [hardtanh.1] min_val <= max_val. [hardtanh.2] Not on bools.
// [hardtanh.3] No negative bounds of unsigned ints.
// Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_hardtanh() {
  OpDef d = elementwise(
      {.schema = "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor",
       .slots = {"self", cast("min_val"), cast("max_val")},
       .rule = Rule::kPromote,
       .formula = Formula::both<3>([](auto x, auto lo, auto hi) { return num::minimum(num::maximum(x, lo), hi); }),
       .choose = {},
       .stock = "aten::hardtanh.out"});
  d.infer = [rule = d.infer](const Call& c) -> Result<Types> {
    const DType t = c.tensor("self").dtype;
    if (is_bool(t)) return fail(Code::kUnsupported, "[hardtanh.2] self is bool");
    if (t == DType::u8 && (c.f("min_val") < 0 || c.f("max_val") < 0))
      return fail(Code::kUnsupported, "[hardtanh.3] negative bounds of an unsigned type");
    return rule(c);
  };
  d.lower = [](const ir::Node& n, XnnEmitter& x) -> Result<void> {
    auto lo = constant_number(n, "min_val"), hi = constant_number(n, "max_val");
    if (lo && hi && !is_float(n.result()->tensor()->dtype)) {  // bounds become numbers of self's dtype
      lo = std::trunc(*lo);
      hi = std::trunc(*hi);
    }
    if (!lo || !hi || !(*lo <= *hi))
      return fail(Code::kKeptOnHost, "{}: clamp needs known bounds, min <= max", n.name());
    return x.clamp(n.arg("self").value(), n.result(), {.min = static_cast<float>(*lo), .max = static_cast<float>(*hi)});
  };
  d.agreement = Agreement::kEqual;
  return {std::move(d)};
}

}  // namespace edgewright::ops
