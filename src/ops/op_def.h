// src/ops/op_def.h - the definition of an op: schema, rule, meaning, decomposition, lowering, promise. Depends on ir.
//
// One file per op (with its overloads), src/ops/<op>.cc, defining `std::vector<OpDef> define_<op>()`; the build makes the
// table from the file names. Helper families (elementwise, reductions, data movement) stand in ops/families.h.
#pragma once

#include <array>

#include "ops/bounded.h"
#include "ops/call.h"

namespace edgewright::ops {

using Index = std::span<const int64_t>;  // one entry per dimension
inline constexpr size_t kMaxRank = 16;
using IndexBuffer = std::array<int64_t, kMaxRank>;

// Elements of the operands, by operand number (see Call). Either dense in memory or computed on demand: an eval that asks
// for few elements costs little.
class In {
 public:
  using F = double;
  virtual ~In() = default;
  virtual double f(int operand, Index at) const = 0;   // floats, ints and bools as double
  virtual int64_t i(int operand, Index at) const = 0;  // ints and bools
};
class BoundedIn {
 public:
  using F = Bounded;
  virtual ~BoundedIn() = default;
  virtual Bounded f(int operand, Index at) const = 0;
  virtual int64_t i(int operand, Index at) const = 0;
};

// How to compute one element of one result. Exactly one of {f + bounded, i, move} is set.
// Floats are computed in double and rounded once to the result's dtype by the caller; ints in int64 and wrapped.
struct Point {
  std::function<double(const In&, Index)> f;
  std::function<Bounded(const BoundedIn&, Index)> bounded;
  std::function<int64_t(const In&, Index)> i;
  // Data movement: writes the operand's index to `in` and returns the operand, or -1 for `fill`.
  std::function<int(Index out, int64_t* in)> move;
  Scalar fill;
};

// Makes a float-valued Point from a generic lambda `[...](const auto& in, Index at) -> in's F`.
// Inside it, use `in.f(operand, index)`, arithmetic, and num:: functions only.
template <class L>
Point float_point(L l) {
  Point p;
  p.f = [l](const In& in, Index at) -> double { return l(in, at); };
  p.bounded = [l](const BoundedIn& in, Index at) -> Bounded { return l(in, at); };
  return p;
}
// An int- or bool-valued Point from `[...](const In& in, Index at) -> int64_t`.
template <class L>
Point int_point(L l) {
  Point p;
  p.i = std::move(l);
  return p;
}
// Pure data movement from `[...](Index out, int64_t* in) -> int operand`.
template <class L>
Point move_point(L l, Scalar fill = {}) {
  Point p;
  p.move = std::move(l);
  p.fill = fill;
  return p;
}

// Agreement classes of soundness.md.
enum class Agreement : uint8_t { kBitExact, kEqual, kReassociated, kApproximate, kQuantized };

// Adds nodes in front of a given node; keeps the first failure (then every call returns null). See build.h.
class Builder;
class XnnEmitter;

struct OpDef : ir::Op {
  // Registered as a schema text; ops::table() parses it into `schema` and `name`.
  std::string schema_text;

  // Result types. Checks every constraint, labelled [op.n].
  std::function<Result<Types>(const Call&)> infer;
  // Element-wise meaning of result `r`; called with a concrete Call. Unset only where `whole` is the meaning.
  std::function<Result<Point>(const Call&, size_t r)> eval;
  // Whole-tensor meaning: required where an element cannot be had alone (sort, lstm), otherwise a faster equal of eval
  // (a test compares them). `in` by operand number, any strides; `out` contiguous, allocated, of the inferred types.
  std::function<Result<void>(const Call&, std::span<const ir::Tensor> in, std::span<ir::Tensor> out)> whole;
  // For ops whose results are Python numbers (sym_size, item, operator.add): the numbers. `in` holds the operands.
  std::function<Result<std::vector<Scalar>>(const Call&, std::span<const ir::Tensor> in)> numbers;
  // Replacement in simpler ops: values to stand for the results; an empty vector means "keep it".
  std::function<Result<std::vector<ir::Value*>>(const ir::Node&, Builder&)> decompose;
  // Emits XNNPACK nodes for this node, or fails with kKeptOnHost and the reason. Unset: XNNPACK has nothing for it.
  std::function<Result<void>(const ir::Node&, XnnEmitter&)> lower;

  // Aliasing: the parameter whose storage every result shares (views), empty for fresh results.
  std::string view_of;
  // For views: the base's new value after result `r` was overwritten by `written`. `base` is the base's present value.
  std::function<Result<ir::Value*>(const ir::Node& view, size_t r, ir::Value* base, ir::Value* written, Builder&)>
      scatter_back;
  // In-place ops: the functional op whose result is written to the first (mutated) parameter. Found by name: see find().
  const OpDef* functional = nullptr;

  // Operator of the stock runtime with the same parameters plus outputs, "aten::add.out"; empty if it has none.
  std::string stock;
  // Why the stock kernel cannot run this node although it exists; empty where it can.
  std::function<std::string(const ir::Node&)> stock_limit;
  // Arguments for it, where they differ from the node's own (without outputs).
  std::function<std::vector<ir::Arg>(const ir::Node&)> stock_args;

  Agreement agreement = Agreement::kBitExact;  // of the lowering, against eval
  bool has_side_effect = false;                // assertions and the like: never dead code
  bool is_nondeterministic = false;            // rand, dropout in training
};

// All definitions, made once. Thread-safe.
const std::vector<OpDef>& table();
// The definition by name ("aten.add.Tensor"); null if there is none. For an in-place name ("aten.add_.Tensor", also
// "aten.__iadd__.Tensor") whose functional op exists, a definition with `functional` set is made from it.
const OpDef* find(std::string_view name);
// The definition behind a node; null for an unknown op.
inline const OpDef* def(const ir::Node& n) { return n.op().is_unknown ? nullptr : static_cast<const OpDef*>(&n.op()); }

// Runs the rule and reports what the Call recorded. Errors name the op; callers add the node.
Result<Types> infer(const OpDef& d, const Call& c);
Result<Point> point(const OpDef& d, const Call& c, size_t result);

}  // namespace edgewright::ops
