// src/ops/bounded.h - a number with a running error bound: what `reassociated` agreement is judged by. Depends on base.
//
// `v` is the value computed in double; `e` bounds |v - w| for the w that f32 arithmetic could have produced by the same
// formula in any order (unit roundoff u per operation, first order, Higham "Accuracy and Stability", ch. 3).
// e is infinite where nothing can be promised (overflow, inf - inf, a comparison that the error could flip).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace edgewright::ops {

struct Bounded {
  double v = 0, e = 0;
  static constexpr double u = 0x1p-24;
  Bounded(double x = 0) : v(x) {}  // NOLINT
  Bounded(double x, double err) : v(x), e(err) {}
  static Bounded rounded(double x, double err) {
    const double total = err + u * std::fabs(x) + 0x1p-149;
    return {x, std::isfinite(x) && std::fabs(x) < 0x1p127 && total == total ? total
                                                                            : std::numeric_limits<double>::infinity()};
  }
  friend Bounded operator+(Bounded a, Bounded b) { return rounded(a.v + b.v, a.e + b.e); }
  friend Bounded operator-(Bounded a, Bounded b) { return rounded(a.v - b.v, a.e + b.e); }
  friend Bounded operator-(Bounded a) { return {-a.v, a.e}; }
  friend Bounded operator*(Bounded a, Bounded b) {
    return rounded(a.v * b.v, std::fabs(a.v) * b.e + std::fabs(b.v) * a.e + a.e * b.e);
  }
  friend Bounded operator/(Bounded a, Bounded b) {
    const double m = std::fabs(b.v) - b.e;
    if (!(m > 0)) return {a.v / b.v, std::numeric_limits<double>::infinity()};
    return rounded(a.v / b.v, (a.e + std::fabs(a.v / b.v) * b.e) / m);
  }
  Bounded& operator+=(Bounded b) { return *this = *this + b; }
  Bounded& operator-=(Bounded b) { return *this = *this - b; }
  Bounded& operator*=(Bounded b) { return *this = *this * b; }
  Bounded& operator/=(Bounded b) { return *this = *this / b; }
};

// Functions that op definitions use on either number type; never write std::exp and the like on an element directly.
// `apply(x, f, df)`: f with a bound |f'| <= df(lo, hi) over the interval the true argument lies in.
namespace num {
inline double value(double x) { return x; }
inline double value(Bounded x) { return x.v; }

// A function whose slope is at most `slope(|.|)` on [v-e, v+e]; the caller gives the slope bound over that interval.
template <class F>
double smooth(double x, F f, double) {
  return f(x);
}
template <class F>
Bounded smooth(Bounded x, F f, double slope) {
  return Bounded::rounded(f(x.v), slope * x.e + 2 * Bounded::u * std::fabs(f(x.v)));
}
inline double lo(double x) { return x; }
inline double hi(double x) { return x; }
inline double lo(Bounded x) { return x.v - x.e; }
inline double hi(Bounded x) { return x.v + x.e; }
inline double maxabs(double x) { return std::fabs(x); }
inline double maxabs(Bounded x) { return std::fabs(x.v) + x.e; }

template <class R>
R exp(R x) {
  return smooth(x, [](double t) { return std::exp(t); }, std::exp(hi(x)));
}
template <class R>
R expm1(R x) {
  return smooth(x, [](double t) { return std::expm1(t); }, std::exp(hi(x)));
}
template <class R>
R exp2(R x) {
  return smooth(x, [](double t) { return std::exp2(t); }, std::exp2(hi(x)));
}
template <class R>
R log(R x) {
  return smooth(x, [](double t) { return std::log(t); }, lo(x) > 0 ? 1 / lo(x) : INFINITY);
}
template <class R>
R log1p(R x) {
  return smooth(x, [](double t) { return std::log1p(t); }, lo(x) > -1 ? 1 / (1 + lo(x)) : INFINITY);
}
template <class R>
R log2(R x) {
  return smooth(x, [](double t) { return std::log2(t); }, lo(x) > 0 ? 1.4426950408889634 / lo(x) : INFINITY);
}
template <class R>
R log10(R x) {
  return smooth(x, [](double t) { return std::log10(t); }, lo(x) > 0 ? 0.4342944819032518 / lo(x) : INFINITY);
}
template <class R>
R sqrt(R x) {
  return smooth(x, [](double t) { return std::sqrt(t); }, lo(x) > 0 ? 0.5 / std::sqrt(lo(x)) : INFINITY);
}
template <class R>
R rsqrt(R x) {
  return smooth(x, [](double t) { return 1 / std::sqrt(t); }, lo(x) > 0 ? 0.5 / (lo(x) * std::sqrt(lo(x))) : INFINITY);
}
template <class R>
R sin(R x) {
  return smooth(x, [](double t) { return std::sin(t); }, 1.0);
}
template <class R>
R cos(R x) {
  return smooth(x, [](double t) { return std::cos(t); }, 1.0);
}
template <class R>
R tanh(R x) {
  return smooth(x, [](double t) { return std::tanh(t); }, 1.0);
}
template <class R>
R erf(R x) {
  return smooth(x, [](double t) { return std::erf(t); }, 1.1283791670955126);
}
template <class R>
R atan(R x) {
  return smooth(x, [](double t) { return std::atan(t); }, 1.0);
}
template <class R>
R sigmoid(R x) {
  return smooth(x, [](double t) { return 1 / (1 + std::exp(-t)); }, 0.25);
}
template <class R>
R pow(R x, double p) {
  return smooth(
      x, [p](double t) { return std::pow(t, p); },
      std::fabs(p) * std::max(std::pow(std::fabs(lo(x)), p - 1), std::pow(std::fabs(hi(x)), p - 1)));
}
// Any other function of one number: no promise unless the argument is exact.
inline double other(double x, double (*f)(double)) { return f(x); }
inline Bounded other(Bounded x, double (*f)(double)) {
  return {f(x.v), x.e == 0 ? 2 * Bounded::u * std::fabs(f(x.v)) : INFINITY};
}
inline double abs(double x) { return std::fabs(x); }
inline Bounded abs(Bounded x) { return {std::fabs(x.v), x.e}; }
inline int64_t abs(int64_t x) { return x < 0 ? static_cast<int64_t>(0 - static_cast<uint64_t>(x)) : x; }
// PyTorch's maximum/minimum: NaN if either is NaN.
template <class R>
R maximum(R a, R b) {
  if (value(a) != value(a)) return a;
  if (value(b) != value(b)) return b;
  return value(a) < value(b) ? b : a;
}
inline Bounded maximum(Bounded a, Bounded b) {
  if (a.v != a.v) return a;
  if (b.v != b.v) return b;
  return {std::max(a.v, b.v), std::max(a.e, b.e)};
}
inline int64_t maximum(int64_t a, int64_t b) { return std::max(a, b); }
template <class R>
R minimum(R a, R b) {
  if (value(a) != value(a)) return a;
  if (value(b) != value(b)) return b;
  return value(b) < value(a) ? b : a;
}
inline Bounded minimum(Bounded a, Bounded b) {
  if (a.v != a.v) return a;
  if (b.v != b.v) return b;
  return {std::min(a.v, b.v), std::max(a.e, b.e)};
}
inline int64_t minimum(int64_t a, int64_t b) { return std::min(a, b); }
// Chooses by a comparison with a constant; a continuous choice (relu, clamp) should use maximum/minimum instead.
// For Bounded, a choice that the error could flip poisons the result.
template <class R>
bool certain(R x, double threshold) {
  return lo(x) > threshold || hi(x) < threshold || lo(x) == hi(x);
}
inline double unless_certain(double r, bool) { return r; }
inline Bounded unless_certain(Bounded r, bool certain) { return certain ? r : Bounded{r.v, INFINITY}; }
}  // namespace num

}  // namespace edgewright::ops
