// src/ops/element_arg.h - a number beside a tensor, as the element that it becomes. Depends on ops/families.h.
#pragma once

#include "ops/families.h"

namespace edgewright::ops {

// The argument as a decomposition hands it on: where the result is of ints a float has become an int (truncated), and must not
// promote.
inline ir::Arg element_arg(const ir::Node& n, const char* param) {
  const ir::Arg a = n.arg(param);
  return a.f() && !is_float(n.result()->tensor()->dtype) ? ir::Arg(float_to_int(*a.f())) : a;
}

}  // namespace edgewright::ops
