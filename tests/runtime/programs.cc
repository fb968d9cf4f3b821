#include "programs.h"

#include <cmath>
#include <cstring>

namespace edgewright::runtime {

double element(const HostTensor& t, int64_t i) {
  const std::byte* p = t.bytes.data() + static_cast<size_t>(i) * size_of(t.dtype);
  const auto as = [p]<class T>(T v) {
    std::memcpy(&v, p, sizeof v);
    return v;
  };
  switch (t.dtype) {
    case DType::f32: return as(float{});
    case DType::f64: return as(double{});
    case DType::f16: return half_to_float(as(uint16_t{}));
    case DType::bf16: return bf16_to_float(as(uint16_t{}));
    case DType::i64: return static_cast<double>(as(int64_t{}));
    case DType::i32: return as(int32_t{});
    case DType::i16: return as(int16_t{});
    case DType::i8: return as(int8_t{});
    default: return as(uint8_t{});
  }
}

std::string difference(const HostTensor& got, const HostTensor& want, double rtol, double atol) {
  if (got.dtype != want.dtype) return fmt::format("dtype {} instead of {}", name(got.dtype), name(want.dtype));
  if (got.sizes != want.sizes)
    return fmt::format("shape [{}] instead of [{}]", fmt::join(got.sizes, ", "), fmt::join(want.sizes, ", "));
  for (int64_t i = 0; i < got.numel(); ++i) {
    const double a = element(got, i), b = element(want, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!is_float(got.dtype) || std::isinf(b) || !(std::fabs(a - b) <= atol + rtol * std::fabs(b)))
      return fmt::format("element {}: {} instead of {}", i, a, b);
  }
  return "";
}

}  // namespace edgewright::runtime
