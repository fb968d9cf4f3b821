// src/base/dtype.h - element types, numbered as ATen's ScalarType (c10/core/ScalarType.h; also what .pte stores).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace edgewright {

enum class DType : int8_t {
  u8 = 0,
  i8 = 1,
  i16 = 2,
  i32 = 3,
  i64 = 4,
  f16 = 5,
  f32 = 6,
  f64 = 7,
  c32 = 8,
  c64 = 9,
  c128 = 10,
  b8 = 11,
  qi8 = 12,
  qu8 = 13,
  qi32 = 14,
  bf16 = 15,
  f8e5m2 = 23,
  f8e4m3fn = 24,
  f8e5m2fnuz = 25,
  f8e4m3fnuz = 26,
  u16 = 27,
  u32 = 28,
  u64 = 29,
};

// Bytes per element.
constexpr size_t size_of(DType t) {
  switch (t) {
    case DType::u8:
    case DType::i8:
    case DType::b8:
    case DType::qi8:
    case DType::qu8:
    case DType::f8e5m2:
    case DType::f8e4m3fn:
    case DType::f8e5m2fnuz:
    case DType::f8e4m3fnuz: return 1;
    case DType::i16:
    case DType::f16:
    case DType::bf16:
    case DType::u16: return 2;
    case DType::i32:
    case DType::f32:
    case DType::c32:
    case DType::qi32:
    case DType::u32: return 4;
    case DType::i64:
    case DType::f64:
    case DType::c64:
    case DType::u64: return 8;
    case DType::c128: return 16;
  }
  return 0;
}

// Short name used in the graph's text form ("f32", "i64", "bool", ...).
constexpr std::string_view name(DType t) {
  switch (t) {
    case DType::u8: return "u8";
    case DType::i8: return "i8";
    case DType::i16: return "i16";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::f16: return "f16";
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::c32: return "c32";
    case DType::c64: return "c64";
    case DType::c128: return "c128";
    case DType::b8: return "bool";
    case DType::qi8: return "qi8";
    case DType::qu8: return "qu8";
    case DType::qi32: return "qi32";
    case DType::bf16: return "bf16";
    case DType::f8e5m2: return "f8e5m2";
    case DType::f8e4m3fn: return "f8e4m3fn";
    case DType::f8e5m2fnuz: return "f8e5m2fnuz";
    case DType::f8e4m3fnuz: return "f8e4m3fnuz";
    case DType::u16: return "u16";
    case DType::u32: return "u32";
    case DType::u64: return "u64";
  }
  return "?";
}
std::optional<DType> dtype_from_name(std::string_view s);

constexpr bool is_float(DType t) { return t == DType::f16 || t == DType::f32 || t == DType::f64 || t == DType::bf16; }
constexpr bool is_complex(DType t) { return t == DType::c32 || t == DType::c64 || t == DType::c128; }
constexpr bool is_signed_int(DType t) {
  return t == DType::i8 || t == DType::i16 || t == DType::i32 || t == DType::i64;
}
constexpr bool is_int(DType t) {
  return is_signed_int(t) || t == DType::u8 || t == DType::u16 || t == DType::u32 || t == DType::u64;
}
constexpr bool is_bool(DType t) { return t == DType::b8; }

// Half-precision bit patterns (IEEE binary16 and bfloat16); float_to_* round to nearest even, keep NaN a NaN.
float half_to_float(uint16_t h);
uint16_t float_to_half(float f);
uint16_t double_to_half(double d);  // one rounding, straight from double
inline float bf16_to_float(uint16_t h) {
  uint32_t u = static_cast<uint32_t>(h) << 16;
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}
uint16_t double_to_bf16(double d);  // one rounding, straight from double

}  // namespace edgewright
