// src/ir/type.h - what a value is: a tensor, or a scalar known at run time. Depends on base, dim.h.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "base/dtype.h"
#include "ir/dim.h"

namespace edgewright::ir {

// A logical tensor; layout in memory is not part of the type (strides of program inputs stand in InputLeaf).
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  size_t rank() const { return shape.size(); }
  bool operator==(const TensorType&) const = default;
};

// An int, float or bool that a node computes (Python's, so 64 bits wide). `expr`: what is known of an int.
enum class ScalarKind : uint8_t { kInt, kFloat, kBool };
struct ScalarType {
  ScalarKind kind = ScalarKind::kInt;
  std::optional<Dim> expr;
  bool operator==(const ScalarType&) const = default;
};

using Type = std::variant<TensorType, ScalarType>;

// "f32[2,3]", "int", "int(2*s0)", "float", "bool".
std::string str(const Type& t);

}  // namespace edgewright::ir
