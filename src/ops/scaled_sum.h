// src/ops/scaled_sum.h - PyTorch's rule for the alpha of add, sub and rsub. Depends on ops/families.h.
#pragma once

#include "ops/families.h"

namespace edgewright::ops {

// [op.alpha] A result of ints or bools takes no fraction, and only one of bools takes a bool.
inline OpDef with_alpha_rule(OpDef d) {
  d.infer = [rule = d.infer](const Call& c) -> Result<Types> {
    EW_ASSIGN(Types types, rule(c));
    const auto alpha = c.number_kind("alpha");
    const auto* t = types.empty() ? nullptr : std::get_if<TensorType>(&types[0]);
    if (t && alpha == ir::ScalarKind::kFloat && !is_float(t->dtype))
      return fail(Code::kUnsupported, "{}: [op.alpha] a float as alpha of {}", c.name(), name(t->dtype));
    if (t && alpha == ir::ScalarKind::kBool && !is_bool(t->dtype))
      return fail(Code::kUnsupported, "{}: [op.alpha] a bool as alpha of {}", c.name(), name(t->dtype));
    return types;
  };
  return d;
}

}  // namespace edgewright::ops
