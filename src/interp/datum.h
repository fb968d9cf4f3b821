// src/interp/datum.h - what a value is while a graph runs. Depends on ops.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "ops/op_def.h"

namespace edgewright::interp {

// None, a tensor (any strides; storage may be shared), a Python number, or a string (only as a fixed input or an output).
using Datum = std::variant<std::monostate, ir::Tensor, ops::Scalar, std::string>;

inline const ir::Tensor* tensor(const Datum& d) { return std::get_if<ir::Tensor>(&d); }
inline const ops::Scalar* number(const Datum& d) { return std::get_if<ops::Scalar>(&d); }
inline Datum int_datum(int64_t v) { return ops::Scalar{ir::ScalarKind::kInt, v, static_cast<double>(v)}; }
inline Datum bool_datum(bool v) { return ops::Scalar{ir::ScalarKind::kBool, v, v ? 1.0 : 0.0}; }
inline Datum float_datum(double v) { return ops::Scalar{ir::ScalarKind::kFloat, 0, v}; }

// A constant argument or output as it stands in a graph: a number, a string; None for anything else.
Datum from_arg(const ir::Arg& a);
// "f32[2,3]", "int 3", "None".
std::string describe(const Datum& d);
// What the type of a node's operand is while it holds `d`; nullopt for None and strings.
std::optional<ops::Call::Known> known(const Datum& d);

}  // namespace edgewright::interp
