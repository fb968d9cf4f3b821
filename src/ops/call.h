// src/ops/call.h - one application of an op with its arguments resolved: what shape rules and evals read. Depends on ir.
//
// The same Call type serves graph building (dims may be symbolic) and evaluation (everything concrete), so that a rule is
// written once. Accessors never fail on the spot: asking for something absent, symbolic or of another kind returns a neutral
// value and records the reason; whoever called the rule then reports that reason instead of the rule's result.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace edgewright::ops {

using ir::Dim;
using ir::Shape;
using ir::TensorType;
using ir::Type;
using Types = std::vector<Type>;

// A Python number.
struct Scalar {
  ir::ScalarKind kind = ir::ScalarKind::kInt;
  int64_t i = 0;  // int and bool
  double f = 0;   // always set
  bool is_float() const { return kind == ir::ScalarKind::kFloat; }
  bool is_bool() const { return kind == ir::ScalarKind::kBool; }
};

class Call {
 public:
  // What a value is at this call: its type, and for a scalar value its number if it is known.
  struct Known {
    Type type;
    std::optional<Scalar> number;
  };
  using Lookup = std::function<Known(const ir::Value*)>;

  // Symbolic: types as the graph has them.
  static Call of(const ir::Op& op, const std::vector<ir::Arg>& args);
  static Call of(const ir::Node& n) { return of(n.op(), n.args()); }
  // As `lookup` says; used by the interpreter.
  static Call with(const ir::Op& op, const std::vector<ir::Arg>& args, const Lookup& lookup);

  const ir::Op& op() const { return *op_; }
  const std::string& name() const { return op_->name; }

  // --- tensor operands, numbered in schema order; lists count each element; None has no number ---
  // A tensor parameter may also hold a Python number (exported programs have aten.add.Tensor(x, 1)): it is no operand;
  // ask number_kind() and scalar().
  size_t num_operands() const { return operands_.size(); }
  const TensorType& type(int operand) const;
  const ir::Value* value(int operand) const { return operands_[static_cast<size_t>(operand)].value; }
  int operand(std::string_view param) const;                // -1 for None
  std::vector<int> operands(std::string_view param) const;  // of a list; -1 for a None element
  const TensorType& tensor(std::string_view param) const;   // type(operand(param))
  int64_t rank(std::string_view param) const { return static_cast<int64_t>(tensor(param).rank()); }

  // --- attributes ---
  bool has(std::string_view param) const;   // present and not None
  int64_t i(std::string_view param) const;  // constant int or bool
  Dim dim(std::string_view param) const;    // int, maybe symbolic
  double f(std::string_view param) const;   // int, float or bool as double
  bool flag(std::string_view param) const;
  Scalar scalar(std::string_view param) const;  // number of any kind
  // int, float or bool for a number, also one known only at run time; nullopt for anything else.
  std::optional<ir::ScalarKind> number_kind(std::string_view param) const;
  std::string str(std::string_view param) const;
  std::optional<DType> dtype(std::string_view param) const;  // nullopt for None
  std::vector<int64_t> ints(std::string_view param) const;   // a single int broadcasts to a sized list's length
  Shape dims(std::string_view param) const;                  // like ints, maybe symbolic
  std::vector<double> floats(std::string_view param) const;
  // A dim argument brought into [0, rank); rank 0 counts as 1. Records an error when out of range.
  int64_t axis(std::string_view param, int64_t rank) const;
  // Several axes, normalized, none twice; empty means all where `empty_is_all`.
  std::vector<int64_t> axes(std::string_view param, int64_t rank, bool empty_is_all = true) const;
  const ir::Arg& raw(std::string_view param) const;

  // Records a reason (the first one stays). `[op.n]` labels are welcome in the text.
  void error(std::string reason) const {
    if (!error_) error_ = std::move(reason);
  }
  const std::optional<std::string>& failed() const { return error_; }
  // A name for an unknown size that this call makes: "u_<op>_<n>".
  Dim fresh_symbol() const;

 private:
  struct Operand {
    const ir::Value* value = nullptr;
    TensorType type;
  };
  const ir::Param* param(std::string_view name, size_t& index) const;
  std::optional<Scalar> number(const ir::Arg& a) const;
  std::optional<Dim> as_dim(const ir::Arg& a) const;

  const ir::Op* op_ = nullptr;
  std::vector<ir::Arg> args_;                      // schema order, defaults filled in
  std::vector<std::vector<int>> operand_numbers_;  // per param
  std::vector<Operand> operands_;
  std::unordered_map<const ir::Value*, Known> scalars_;
  mutable std::optional<std::string> error_;
  mutable int fresh_ = 0;
};

}  // namespace edgewright::ops
