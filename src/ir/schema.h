// src/ir/schema.h - the signature of an op, in PyTorch's schema language. Depends on base.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace edgewright::ir {

// Parameter types as the schema language has them; kOther covers Device, Layout, MemoryFormat, Generator, str and so on,
// which are carried but change no value.
enum class ParamKind : uint8_t { kTensor, kInt, kFloat, kBool, kScalar, kDType, kString, kGraph, kOther };

struct Param {
  std::string name;
  ParamKind kind = ParamKind::kTensor;
  bool is_list = false;      // Tensor[], SymInt[2], Tensor?[]
  int list_size = 0;         // SymInt[2]: a single int broadcasts to this many
  bool is_optional = false;  // Tensor?, int?
  bool keyword_only = false;
  bool has_default = false;
  std::string default_text;  // "None", "1", "True", "[]", "0.5", as written
  bool is_mutated = false;   // Tensor(a!)
};

struct Schema {
  std::string name;  // "aten.add.Tensor"; ".default" is left away
  std::vector<Param> params;
  size_t num_results = 1;  // -1 in text "Tensor[]" is kVariadic
  static constexpr size_t kVariadic = static_cast<size_t>(-1);
  int index_of(std::string_view param) const;  // -1 if there is none
};

// Parses "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
// Errors: kInternal (schemas are written by us; a wrong one is our fault).
Result<Schema> parse_schema(std::string_view text);

// An op as a graph knows it. What it means stands in ops::OpDef, which derives from it.
struct Op {
  std::string name;
  Schema schema;
  virtual ~Op() = default;
  // True for an op that was read from a file and has no definition here; its params are named as in the file.
  bool is_unknown = false;
};

}  // namespace edgewright::ir
