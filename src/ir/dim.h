// src/ir/dim.h - a dimension or integer: a constant, or an expression over named symbols. Depends on base.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace edgewright::ir {

// Inclusive range of a symbol; kMaxDim stands for "no upper bound".
inline constexpr int64_t kMaxDim = INT64_MAX;
struct Range {
  int64_t lo = 0, hi = kMaxDim;
};
using SymbolRanges = std::map<std::string, Range>;
using SymbolValues = std::map<std::string, int64_t>;

// An integer expression in canonical form: a sum of terms coefficient * product of atoms; an atom is a symbol or
// floordiv/mod/max/min/pow of two expressions. Equal canonical forms compare equal; unequal ones may still be equal
// numbers (ask `bounds` of the difference). Copies are cheap (shared, immutable).
class Dim {
 public:
  Dim(int64_t v = 0) : constant_(v) {}  // NOLINT: an int is a Dim
  static Dim symbol(std::string name);

  bool is_constant() const { return !expr_; }
  // The constant; only where is_constant().
  int64_t value() const;
  std::optional<int64_t> maybe() const { return expr_ ? std::nullopt : std::optional(constant_); }

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim floordiv(const Dim& a, const Dim& b);  // towards minus infinity, as Python's //
  friend Dim mod(const Dim& a, const Dim& b);       // sign of the divisor, as Python's %
  friend Dim max(const Dim& a, const Dim& b);
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim pow(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b);

  // Value under an assignment; nullopt if a symbol is missing or a division is by zero.
  std::optional<int64_t> evaluate(const SymbolValues& values) const;
  // Bounds by interval arithmetic (sound, not tight).
  Range bounds(const SymbolRanges& ranges) const;
  // Every symbol replaced by what `to` says (kept where it says nothing).
  Dim substitute(const std::map<std::string, Dim>& to) const;
  void collect_symbols(std::vector<std::string>& into) const;
  // "2*s0 + 1"; parse() reads it back.
  std::string str() const;

  // Reads str()'s form, Python's infix form ("(s0//2)", "s0**2") and sympy's srepr ("Mul(Integer(2), Symbol('s0'))").
  // Errors: kMalformed on syntax, nesting deeper than 64, or a function that is not integer-valued.
  static Result<Dim> parse(std::string_view text);

 private:
  struct Expr;
  struct Atom;
  struct Term;
  static Dim from(std::vector<Term> terms);
  static Dim function(int kind, const Dim& a, const Dim& b);
  std::vector<Term> terms() const;
  int64_t constant_ = 0;
  std::shared_ptr<const Expr> expr_;
  friend struct DimAccess;
};

using Shape = std::vector<Dim>;
// True where all dims are constants.
bool is_static(const Shape& s);
Dim numel(const Shape& s);
// Constants of a static shape.
std::vector<int64_t> static_sizes(const Shape& s);

}  // namespace edgewright::ir
