// src/ops/families.h - families that make most op files a few lines: elementwise formulas with PyTorch's promotion and
// broadcasting, folds over dims, and the usual XNNPACK lowerings. Data movement has view_rules.h. Depends on ops/op_def.h.
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <utility>

#include "ops/build.h"
#include "ops/xnn_emitter.h"

namespace edgewright::ops {

// ---- dtypes ---------------------------------------------------------------------------------------------------------

inline constexpr DType kDefaultFloat = DType::f32;
// Float, int or bool: what formulas compute on.
constexpr bool is_number(DType t) { return is_float(t) || is_int(t) || is_bool(t); }
// torch.promote_types for number dtypes; nullopt where PyTorch has no rule (u16 and wider unsigned with another int).
std::optional<DType> promote(DType a, DType b);
// The dtype that a Python number alone gives: i64, f32 or bool.
DType dtype_of(ir::ScalarKind kind);
// torch.result_type over tensor or number parameters; None does not count. Category first (bool < int < float), and within
// the highest category tensors with dims win over 0-dim tensors, which win over numbers. Records an error for other dtypes.
DType result_type(const Call& c, std::span<const std::string> params);
DType result_type(const Call& c, std::initializer_list<std::string> params);
// Value after a cast to `t` and back, as a cast within PyTorch's arithmetic does it.
double cast_f(DType t, double v);
int64_t cast_i(DType t, int64_t v);
int64_t float_to_int(double v);  // truncates; out of range gives INT64_MIN
// PyTorch's int arithmetic: two's complement, wrapping.
inline int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// ---- shapes ---------------------------------------------------------------------------------------------------------

// Broadcast of two shapes; records an error where constants do not fit. An undecidable pair is taken to fit.
Shape broadcast(const Call& c, const Shape& a, const Shape& b);
// Maps an index of a broadcast result to an index of one operand.
class BroadcastIndex {
 public:
  BroadcastIndex() = default;
  BroadcastIndex(const Shape& operand, size_t result_rank);
  Index operator()(Index at, IndexBuffer& buffer) const {
    for (size_t d = 0; d < rank_; ++d) buffer[d] = one_[d] ? 0 : at[d + skip_];
    return {buffer.data(), rank_};
  }

 private:
  size_t rank_ = 0, skip_ = 0;
  std::array<bool, kMaxRank> one_{};
};
// Steps an index through `sizes` in row-major order; false after the last one (and at once where a size is 0).
bool next_index(std::span<int64_t> at, std::span<const int64_t> sizes);

// ---- blocks of memory -----------------------------------------------------------------------------------------------

// `n` elements from element offset `at` with a step, converted; the dtype must be a number's.
void load_block(DType t, const std::byte* data, int64_t at, int64_t step, int64_t n, double* out);
void load_block(DType t, const std::byte* data, int64_t at, int64_t step, int64_t n, int64_t* out);
// Stores to consecutive elements, rounding once as store_f / store_i.
void store_block(DType t, std::byte* data, int64_t at, int64_t n, const double* in);
void store_block(DType t, std::byte* data, int64_t at, int64_t n, const int64_t* in);
// Copies elements of equal dtype and sizes into a contiguous tensor.
void copy_into(const ir::Tensor& from, ir::Tensor& to);
// All elements, in row-major order.
std::vector<double> to_doubles(const ir::Tensor& t);
std::vector<int64_t> to_ints(const ir::Tensor& t);

// ---- elementwise ----------------------------------------------------------------------------------------------------

namespace num {
// x > threshold ? above : below for a function that is continuous there: where the error could flip the choice, the errors of
// both sides add up. NaN goes below.
inline double branch(double x, double threshold, double below, double above) { return x > threshold ? above : below; }
inline Bounded branch(Bounded x, Bounded threshold, Bounded below, Bounded above) {
  Bounded r = x.v > threshold.v ? above : below;
  if (x.e + threshold.e >= std::fabs(x.v - threshold.v) && x.e + threshold.e > 0) r.e = above.e + below.e;
  return r;
}
// A choice by a condition without error (a mask).
template <class R>
R select(R condition, R yes, R no) {
  return value(condition) != 0 ? yes : no;
}
inline int64_t select(int64_t condition, int64_t yes, int64_t no) { return condition != 0 ? yes : no; }
// A function of two numbers without a known slope: no promise unless both are exact.
inline double other(double a, double b, double (*f)(double, double)) { return f(a, b); }
inline Bounded other(Bounded a, Bounded b, double (*f)(double, double)) {
  const double r = f(a.v, b.v);
  return {r, a.e == 0 && b.e == 0 ? 2 * Bounded::u * std::fabs(r) : INFINITY};
}
// A function with steps (floor, sign): exact, or nothing.
inline double step(double x, double (*f)(double)) { return f(x); }
inline Bounded step(Bounded x, double (*f)(double)) {
  return {f(x.v), x.e == 0 || f(x.v - x.e) == f(x.v + x.e) ? 0 : INFINITY};
}
}  // namespace num

// A formula over N numbers, in the number systems that it was made for. Made from captureless lambdas:
//   floats<2>([](auto a, auto b) { return a + b; })       double and Bounded; use num:: functions
//   .ints<2>([](int64_t a, int64_t b) { ... })            int64, wrapped to the dtype by the caller
//   tests<1>([](double x) { return x != x; })             floats to bool
struct Formula {
  // One function for floats and ints alike.
  template <int N, class L>
  static Formula both(L l) {
    return Formula{}.floats<N>(l).template ints<N>(l);
  }
  double (*f)(const double*) = nullptr;
  Bounded (*bounded)(const Bounded*) = nullptr;
  void (*f_block)(const double* const*, double*, int64_t) = nullptr;
  int64_t (*i)(const int64_t*) = nullptr;
  void (*i_block)(const int64_t* const*, int64_t*, int64_t) = nullptr;
  int64_t (*test)(const double*) = nullptr;
  void (*test_block)(const double* const*, int64_t*, int64_t) = nullptr;

  template <int N, class L>
  Formula floats(L) const {
    Formula r = *this;
    r.f = one<N, L, double, double>;
    r.bounded = one<N, L, Bounded, Bounded>;
    r.f_block = block<N, L, double, double>;
    return r;
  }
  template <int N, class L>
  Formula ints(L) const {
    Formula r = *this;
    r.i = one<N, L, int64_t, int64_t>;
    r.i_block = block<N, L, int64_t, int64_t>;
    return r;
  }
  template <int N, class L>
  Formula tests(L) const {
    Formula r = *this;
    r.test = one<N, L, double, int64_t>;
    r.test_block = block<N, L, double, int64_t>;
    return r;
  }

 private:
  template <int N, class L, class From, class To>
  static To one(const From* x) {
    return [x]<size_t... k>(std::index_sequence<k...>) {
      return static_cast<To>(L{}(x[k]...));
    }(std::make_index_sequence<N>{});
  }
  template <int N, class L, class From, class To>
  static void block(const From* const* x, To* y, int64_t n) {
    [=]<size_t... k>(std::index_sequence<k...>) {
      for (int64_t j = 0; j < n; ++j) y[j] = static_cast<To>(L{}(x[k][j]...));
    }(std::make_index_sequence<N>{});
  }
};
template <int N, class L>
Formula floats(L l) {
  return Formula{}.floats<N>(l);
}
template <int N, class L>
Formula ints(L l) {
  return Formula{}.ints<N>(l);
}
template <int N, class L>
Formula tests(L l) {
  return Formula{}.tests<N>(l);
}

// A formula's argument: a tensor or number parameter.
struct Slot {
  enum Role {
    kPromoted,  // takes part in promotion and is cast to the dtype computed in
    kCast,      // is cast, but has no say (alpha, eps, the value of masked_fill)
    kAsIs,      // neither (a mask, a condition)
  };
  std::string param;
  Role role = kPromoted;
  std::optional<Scalar> if_none;     // stands for None; such a slot then has no say either
  Slot(const char* p) : param(p) {}  // NOLINT
  Slot(const char* p, Role r, std::optional<Scalar> none = {}) : param(p), role(r), if_none(none) {}
};
inline Slot cast(const char* param) { return {param, Slot::kCast}; }
inline Slot as_is(const char* param) { return {param, Slot::kAsIs}; }
// Promoted where present; `none` otherwise.
inline Slot maybe(const char* param, Scalar none) { return {param, Slot::kPromoted, none}; }
inline constexpr Scalar kLowest{ir::ScalarKind::kInt, INT64_MIN, -INFINITY},
    kHighest{ir::ScalarKind::kInt, INT64_MAX, INFINITY};

// The dtype computed in, and the result's.
enum class Rule : uint8_t {
  kPromote,  // the promoted dtype; the result's too
  kFloat,    // the promoted dtype, ints and bools becoming f32
  kBool,     // computed in the promoted dtype; a bool results
  kFirst,    // the first slot's dtype
};

struct Elementwise {
  std::string schema;
  std::vector<Slot> slots;  // the formula's arguments
  Rule rule = Rule::kPromote;
  Formula formula;
  std::function<Formula(const Call&)> choose;  // instead of `formula`, where an attribute picks it
  std::string stock;
  std::function<Rule(const Call&)> rule_of;  // instead of `rule`, where an attribute decides
};
// schema, infer, eval, whole, stock. Errors: "[op.1]" a dtype without a formula, "[op.2]" shapes that do not broadcast.
OpDef elementwise(Elementwise e);

// Float functions of one tensor (ints give f32), "self" -> floats<1> formula.
OpDef unary_float(std::string schema, Formula f, std::string stock = "");
// One tensor, its dtype kept.
OpDef unary_same(std::string schema, Formula f, std::string stock = "");
// Two of "self", "other", tensors or numbers: promoted arithmetic; a comparison (bool).
OpDef binary(std::string schema, Formula f, std::string stock = "");
OpDef comparison(std::string schema, Formula f, std::string stock = "");

// Adds fields to a definition in an expression.
inline OpDef with_lower(OpDef d, std::function<Result<void>(const ir::Node&, XnnEmitter&)> lower,
                        Agreement a = Agreement::kEqual) {
  d.lower = std::move(lower);
  d.agreement = a;
  return d;
}
inline OpDef with_decompose(OpDef d, std::function<Result<std::vector<ir::Value*>>(const ir::Node&, Builder&)> f) {
  d.decompose = std::move(f);
  return d;
}

// Integer division; by 0 gives 0 (PyTorch raises).
int64_t int_div_trunc(int64_t a, int64_t b);
int64_t int_div_floor(int64_t a, int64_t b);
// Python's // on floats (as PyTorch computes it) and ints, of two arguments.
Formula floor_division();
// A result filled with one number, cast to the dtype that `infer` gives.
OpDef filled(std::string schema, std::function<Result<Types>(const Call&)> infer,
             std::function<Scalar(const Call&)> value);
// "[op.1]": arithmetic that PyTorch refuses on bools.
OpDef not_on_bools(OpDef d);
// An op that is another one by a second name, with the same parameters.
OpDef renamed(std::string schema, std::string target);

// ---- folds over dims ------------------------------------------------------------------------------------------------

// Which dims of an operand are folded.
struct FoldedDims {
  size_t in_rank = 0;
  std::vector<int64_t> folded, kept;  // ascending
  bool keepdim = false;
  FoldedDims(std::vector<int64_t> axes, size_t rank, bool keep);
  Shape shape(const Shape& in) const;
  // Calls f(Index) for each element of the operand that folds into the result's element `at`, in row-major order.
  template <class F>
  void each(const Shape& in, Index at, F f) const {
    IndexBuffer x{};
    std::array<int64_t, kMaxRank> sizes{}, j{};
    int64_t n = 1;
    for (size_t k = 0; k < kept.size(); ++k)
      x[static_cast<size_t>(kept[k])] = at[keepdim ? static_cast<size_t>(kept[k]) : k];
    for (size_t k = 0; k < folded.size(); ++k) {
      sizes[k] = in[static_cast<size_t>(folded[k])].value();
      n *= sizes[k];
    }
    if (n == 0) return;
    do {
      for (size_t k = 0; k < folded.size(); ++k) x[static_cast<size_t>(folded[k])] = j[k];
      f(Index{x.data(), in_rank});
    } while (next_index({j.data(), folded.size()}, {sizes.data(), folded.size()}));
  }
};

// Folds a run of numbers to one. From a generic lambda over std::span<const R>; `floats` for double and Bounded.
struct Fold {
  std::function<double(std::span<const double>)> f;
  std::function<Bounded(std::span<const Bounded>)> bounded;
  std::function<int64_t(std::span<const int64_t>)> i;
  std::function<int64_t(std::span<const double>)> test;  // floats to int or bool
  template <class L>
  Fold floats(L l) && {
    f = l;
    bounded = l;
    return std::move(*this);
  }
  template <class L>
  Fold ints(L l) && {
    i = l;
    return std::move(*this);
  }
  template <class L>
  Fold tests(L l) && {
    test = l;
    return std::move(*this);
  }
};
// eval and whole of a fold of operand 0 into one result of the inferred dtype `result`. Elements are cast to `compute` first;
// f/bounded serve float results, i serves ints and bools from ints, test serves ints and bools from floats.
Result<Point> fold_point(const Call& c, const FoldedDims& dims, const Fold& fold, DType compute, DType result);
void fold_whole(const FoldedDims& dims, const Fold& fold, DType compute, const ir::Tensor& in, ir::Tensor& out);
// Where the dims stand in a schema: "dim" (int, int[] or absent) and "keepdim".
FoldedDims dims_of(const Call& c, std::string_view dim = "dim", std::string_view keepdim = "keepdim",
                   std::string_view self = "self");
struct Reduction {
  std::string schema;
  // The dtypes: {compute, result}, from the operand's.
  std::function<std::pair<DType, DType>(const Call&)> dtypes;
  std::function<Fold(const Call&)> fold;
  std::string stock;
  bool over_all = false;  // the schema has no "dim"
};
OpDef reduction(Reduction r);

// ---- lowering to XNNPACK --------------------------------------------------------------------------------------------

using Lower = std::function<Result<void>(const ir::Node&, XnnEmitter&)>;
// f(self)
Lower lower_unary(XnnUnary op, std::string self = "self");
// f(a, b), either a tensor or a number. Fails where a number is known only at run time.
Lower lower_binary(XnnBinary op, std::string a = "self", std::string b = "other");
// a + alpha * b or a - alpha * b for ops that have "alpha".
Lower lower_scaled_sum(XnnBinary op, std::string a, std::string b);
// A decomposition into `op`, whose parameters are tensors, by making constants of the numbers among the arguments.
std::function<Result<std::vector<ir::Value*>>(const ir::Node&, Builder&)> numbers_to_tensors(std::string op);
// The number at a parameter of a node, if it is a constant one (also of a one-element constant tensor).
std::optional<double> constant_number(const ir::Node& n, std::string_view param);
// A tensor type f32 of the node's result shape, for temporaries.
inline TensorType result_type_of(const ir::Node& n) { return *n.result()->tensor(); }
// The operand's type is the result's: "[op.1]" a number dtype.
Result<Types> infer_same(const Call& c);
// Node arguments with one dropped or replaced are often all that a decomposition needs.
inline ir::Arg arg(const ir::Node& n, std::string_view param) { return n.arg(param); }

}  // namespace edgewright::ops
