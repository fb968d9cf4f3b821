// src/session/signature.h - what a program takes and returns, leaf by leaf, and whether given inputs fit it.
// Depends on interp, format/pte.h, value.h.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "session/value.h"

namespace edgewright::pte {
struct Plan;
}

namespace edgewright::session {

enum class LeafKind : uint8_t { kTensor, kInt, kFloat, kBool, kString, kNone };

// One leaf of the flattened inputs (positional, then keyword) or outputs.
struct LeafSpec {
  std::string name;  // the exporter's; empty for a .pte
  LeafKind kind = LeafKind::kTensor;
  DType dtype = DType::f32;     // of a tensor
  ir::Shape shape;              // of a tensor; symbols have the signature's ranges
  std::optional<ir::Dim> expr;  // what is known of an int
  std::optional<Value> fixed;   // the export fixed it to this value
  bool may_be_omitted = false;  // fixed, or kept as it is in the file
  std::string str() const;      // "f32[2,s0]", "int", "3 (fixed)"
};

struct Signature {
  std::string method;
  std::vector<LeafSpec> inputs, outputs;
  ir::SymbolRanges ranges;
  std::vector<std::pair<ir::Dim, ir::Range>> expression_ranges;
};

Signature signature_of(const ir::Program& p);
// A .pte tells bounds instead of names: a dim that may shrink is a symbol of its own.
Signature signature_of(const pte::Plan& plan);

// All input leaves, one each: given ones placed, numbers converted, those left out as their fixed value (None where only the
// file knows it). Errors, all kUsage and naming the leaf: unknown or doubled keys, missing or superfluous leaves, and what
// `check` finds.
Result<std::vector<Value>> place(const Signature& s, const Inputs& given);
// Holds leaves to the signature: count, kind, dtype, rank, sizes, one value per symbol, ranges, fixed values. Errors: kUsage.
Result<ir::SymbolValues> check(const Signature& s, const std::vector<Value>& inputs);

}  // namespace edgewright::session
