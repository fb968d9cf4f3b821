// src/interp/symbols.h - binds the symbols of types to the numbers seen while running. Depends on ir.
#pragma once

#include "interp/datum.h"

namespace edgewright::interp {

class Symbols {
 public:
  // Checks dtype, rank and kind of `d` against `type` and remembers the sizes. `what`: for messages. Errors: `blame`.
  Result<void> bind(const ir::Type& type, const Datum& d, const std::string& what, Code blame);
  // Solves what was remembered, then checks it. Errors: `blame`, naming the size and what it should have been.
  Result<void> settle(Code blame);
  // Errors: kUsage, naming symbol, its number and the range.
  Result<void> check(const ir::SymbolRanges& ranges, std::span<const std::pair<ir::Dim, ir::Range>> expressions) const;
  const ir::SymbolValues& values() const { return values_; }

 private:
  struct Equation {
    ir::Dim expr;
    int64_t value;
    std::string what;
  };
  std::vector<Equation> open_;
  ir::SymbolValues values_;
  struct Source {
    std::string what;
    bool is_plain;  // the symbol itself, not an expression of it
  };
  std::map<std::string, Source> source_;  // where a symbol's value came from
};

}  // namespace edgewright::interp
