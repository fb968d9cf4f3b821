// src/base/special.h - functions that the C++ library lacks, in double. Depends on nothing of ours.
#pragma once

#include <cmath>

namespace edgewright {

// The logarithmic derivative of the gamma function. As PyTorch has it: -inf at 0 (+inf at -0), NaN at negative integers.
inline double digamma(double x) {
  if (x == 0) return std::copysign(INFINITY, -x);
  if (std::isinf(x)) return x > 0 ? x : NAN;
  double r = 0;
  if (x < 0) {
    if (x == std::floor(x)) return NAN;
    // Reflection; the fraction alone keeps the tangent exact for large x.
    r = -M_PI / std::tan(M_PI * (x - std::floor(x)));
    x = 1 - x;
  }
  // Up to where the asymptotic series is exact.
  for (; x < 12; x += 1) r -= 1 / x;
  const double y = 1 / (x * x);
  const double tail =
      y *
      (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * (691.0 / 32760 - y / 12))))));
  return r + std::log(x) - 0.5 / x - tail;
}

// The inverse of erf: infinite at -1 and 1, NaN beyond.
inline double erfinv(double y) {
  if (!(y >= -1 && y <= 1)) return NAN;
  if (y == 1 || y == -1) return y * INFINITY;
  if (y == 0) return y;
  // A first guess (Winitzki), then Newton's steps of second order on erf, or on erfc where erf is close to 1.
  const double a = 0.147, l = std::log1p(-y * y), b = 2 / (M_PI * a) + l / 2;
  double x = std::copysign(std::sqrt(std::sqrt(b * b - l / a) - b), y);
  for (int i = 0; i < 4; ++i) {
    const double error = std::fabs(y) < 0.5 ? std::erf(x) - y
                         : y > 0            ? (1 - y) - std::erfc(x)
                                            : std::erfc(-x) - (1 + y);
    const double step = error / (2 / std::sqrt(M_PI) * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return x;
}

}  // namespace edgewright
