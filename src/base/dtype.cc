#include "base/dtype.h"

#include <array>

namespace edgewright {

std::optional<DType> dtype_from_name(std::string_view s) {
  static constexpr std::array kAll = {DType::u8,   DType::i8,     DType::i16,      DType::i32,        DType::i64,
                                      DType::f16,  DType::f32,    DType::f64,      DType::c32,        DType::c64,
                                      DType::c128, DType::b8,     DType::qi8,      DType::qu8,        DType::qi32,
                                      DType::bf16, DType::f8e5m2, DType::f8e4m3fn, DType::f8e5m2fnuz, DType::f8e4m3fnuz,
                                      DType::u16,  DType::u32,    DType::u64};
  for (DType t : kAll)
    if (name(t) == s) return t;
  return std::nullopt;
}

float half_to_float(uint16_t h) {
  const int exponent = (h >> 10) & 31, mantissa = h & 1023;
  const float sign = (h & 0x8000) ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa ? std::copysign(std::nanf(""), sign) : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), -24);
  return sign * std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
}

uint16_t float_to_half(float f) { return double_to_half(f); }

uint16_t double_to_half(double d) {
  const uint16_t sign = std::signbit(d) ? 0x8000 : 0;
  const double a = std::fabs(d);
  if (std::isnan(d)) return sign | 0x7e00;
  if (a >= 65520.0) return sign | 0x7c00;
  if (a < 6.103515625e-05)
    return sign |
           static_cast<uint16_t>(std::nearbyint(std::ldexp(a, 24)));  // subnormal; a carry gives the smallest normal
  int e;
  const double m = std::frexp(a, &e);                                       // a = m * 2^e, m in [0.5, 1)
  const auto q = static_cast<uint32_t>(std::nearbyint(std::ldexp(m, 11)));  // in [1024, 2048]
  return sign | static_cast<uint16_t>(((e + 14) << 10) + (q - 1024));       // q = 2048 carries into the exponent
}

uint16_t double_to_bf16(double d) {
  // Round to odd in float first, so that the second rounding sees what the first lost.
  float f = static_cast<float>(d);
  uint32_t u;
  std::memcpy(&u, &f, 4);
  if (std::isnan(d)) return static_cast<uint16_t>((u >> 16) | 0x40);
  if (std::isinf(f)) {
    if (std::isinf(d) || std::fabs(d) >= 0x1.ffp+127) return static_cast<uint16_t>(u >> 16);
    u -= 1;
    u |= 1;
  } else if (static_cast<double>(f) != d) {
    if (std::fabs(static_cast<double>(f)) > std::fabs(d)) u -= 1;  // back to truncation
    u |= 1;
  }
  return static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

}  // namespace edgewright
