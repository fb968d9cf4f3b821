// src/ops/dense.h - what whole-tensor evaluations and reductions share: elements as plain arrays, sums with a sound error
// bound, index arithmetic. Depends on ops/families.h.
#pragma once

#include "ops/families.h"

namespace edgewright::ops {

// All elements in row-major order; T is double (any readable dtype) or int64_t (ints and bools).
template <class T>
std::vector<T> elements(const ir::Tensor& t) {
  if constexpr (std::is_same_v<T, double>)
    return to_doubles(t);
  else
    return to_ints(t);
}
// Writes them to a contiguous tensor, rounded or wrapped to its dtype. `values` has out.numel() elements.
template <class T>
void assign(ir::Tensor& out, const std::vector<T>& values) {
  EW_CHECK(static_cast<int64_t>(values.size()) == out.numel());
  store_block(out.dtype, out.mutable_data(), 0, out.numel(), values.data());
}
// The same elements in f32 or f64 (f16, bf16 and ints become f64), any strides.
ir::Tensor f32_or_f64(const ir::Tensor& t);
// Calls f(const float*) or f(const double*) with the data of such a tensor.
template <class F>
auto visit_float(const ir::Tensor& t, F&& f) {
  if (t.dtype == DType::f64) return f(reinterpret_cast<const double*>(t.data));
  return f(reinterpret_cast<const float*>(t.data));
}
// Calls f(T{}) with T double for a float dtype, int64_t otherwise: the type in which such elements are computed.
template <class F>
auto visit_kind(DType t, F&& f) {
  if (is_float(t)) return f(double{});
  return f(int64_t{});
}

// The tensor as if expanded to `sizes` (right-aligned, broadcast dims get stride 0); sizes must be broadcastable.
ir::Tensor broadcast_view(const ir::Tensor& t, std::span<const int64_t> sizes);
// Dims in another order, no copy.
ir::Tensor permuted_view(const ir::Tensor& t, std::span<const int64_t> perm);
// Contiguous, with other sizes of the same count.
ir::Tensor contiguous_as(const ir::Tensor& t, std::vector<int64_t> sizes);

// A scalar argument as the kernels of PyTorch see it: rounded to the type in which `t` is computed (float for f32, f16, bf16).
inline double scalar_for(DType t, double v) { return t == DType::f64 ? v : static_cast<double>(static_cast<float>(v)); }

// Element of an operand in R: double or Bounded by f(), int64_t by i().
template <class R, class I>
R element(const I& in, int operand, Index at) {
  if constexpr (std::is_same_v<R, int64_t>)
    return in.i(operand, at);
  else
    return in.f(operand, at);
}

// A sum of many terms. For Bounded its error holds for every order of summation (Higham, section 4.2):
// the terms' errors plus (n - 1) u times the sum of magnitudes.
template <class R>
struct Sum;
template <>
struct Sum<double> {
  double v = 0;
  void add(double x) { v += x; }
  double get() const { return v; }
};
template <>
struct Sum<int64_t> {
  uint64_t v = 0;
  void add(int64_t x) { v += static_cast<uint64_t>(x); }
  int64_t get() const { return static_cast<int64_t>(v); }
};
template <>
struct Sum<Bounded> {
  double v = 0, e = 0, magnitude = 0;
  int64_t n = 0;
  void add(Bounded x) {
    v += x.v;
    e += x.e;
    magnitude += std::fabs(x.v) + x.e;
    ++n;
  }
  Bounded get() const {
    return Bounded::rounded(v, e + static_cast<double>(n > 1 ? n - 1 : 0) * Bounded::u * magnitude);
  }
};
// Arithmetic that a generic lambda uses on any of the three number types; ints wrap.
template <class R>
R plus(R a, R b) {
  if constexpr (std::is_same_v<R, int64_t>)
    return wrap_add(a, b);
  else
    return a + b;
}
template <class R>
R times(R a, R b) {
  if constexpr (std::is_same_v<R, int64_t>)
    return wrap_mul(a, b);
  else
    return a * b;
}

// min(max(x, lo), hi); an infinite bound does nothing. NaN stays.
template <class R>
R clamped(R x, double lo, double hi) {
  if constexpr (std::is_same_v<R, int64_t>)
    return x;
  else {
    if (lo != -INFINITY) x = num::maximum(x, R(lo));
    return hi != INFINITY ? num::minimum(x, R(hi)) : x;
  }
}

// Makes the Point of result dtype `t` from one generic lambda `[]<class R>(const auto& in, Index at, R) -> R`.
template <class L>
Point arithmetic_point(DType t, L l) {
  if (is_float(t))
    return float_point([l](const auto& in, Index at) { return l(in, at, typename std::decay_t<decltype(in)>::F{}); });
  return int_point([l](const In& in, Index at) -> int64_t { return l(in, at, int64_t{}); });
}

// Index of an operand that broadcasts against a result of rank at.size(): right-aligned, size-1 dims at 0. Points into `buffer`.
inline Index broadcast_index(Index at, const std::vector<int64_t>& sizes, IndexBuffer& buffer) {
  const size_t skip = at.size() - sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) buffer[d] = sizes[d] == 1 ? 0 : at[skip + d];
  return Index(buffer.data(), sizes.size());
}

// Both known and different: what a rule may reject (where sizes are symbolic the exporter was right).
inline bool differ(const Dim& a, const Dim& b) { return a.is_constant() && b.is_constant() && a.value() != b.value(); }
// True where a result is neither used nor returned.
inline bool is_unused(const ir::Node& n, size_t r) {
  return n.result(r)->users.empty() && !n.graph().is_output(n.result(r));
}

inline int64_t product(std::span<const int64_t> xs) {
  int64_t n = 1;
  for (int64_t x : xs) n *= x;
  return n;
}

}  // namespace edgewright::ops
