// src/ops/dense_source.h - operands that lie in memory, so that a long sum of products need not ask for one element at a time.
// Depends on ops/dense.h.
#pragma once

#include <cstring>

#include "ops/dense.h"

namespace edgewright::ops {

// An In or BoundedIn may be one of these as well.
class DenseSource {
 public:
  virtual ~DenseSource() = default;
  // The operand (any strides) where all its elements are in memory and without error; null otherwise.
  virtual const ir::Tensor* dense(int operand) const = 0;
};

inline float f32_at(const std::byte* data, int64_t at) {
  float v;
  std::memcpy(&v, data + at * static_cast<int64_t>(sizeof v), sizeof v);  // mapped weights need not be aligned
  return v;
}

// The factors of a sum of products, where both are f32 in memory. Not for int64_t sums.
struct DenseFactors {
  const ir::Tensor *a = nullptr, *b = nullptr;
  explicit operator bool() const { return a && b; }
};
template <class I>
DenseFactors dense_factors(const I& in, int a, int b) {
  const auto* source = dynamic_cast<const DenseSource*>(&in);
  if (!source) return {};
  DenseFactors f{source->dense(a), source->dense(b)};
  if (f && (f.a->dtype != DType::f32 || f.b->dtype != DType::f32)) return {};
  return f;
}

// Adds n products of elements that lie `sa` and `sb` apart; gives what sum.add(a * b) one after the other gives. (For Bounded the
// value may differ in double's last bits, which is nothing beside its error.)
inline void add_products(Sum<double>& sum, int64_t n, const std::byte* a, int64_t sa, const std::byte* b, int64_t sb) {
  for (int64_t i = 0; i < n; ++i)
    sum.v += static_cast<double>(f32_at(a, i * sa)) * static_cast<double>(f32_at(b, i * sb));
}
inline void add_products(Sum<Bounded>& sum, int64_t n, const std::byte* a, int64_t sa, const std::byte* b, int64_t sb) {
  double v[4] = {}, magnitude[4] = {};  // independent chains
  int64_t i = 0;
  const auto add = [&](int lane) {
    const double p = static_cast<double>(f32_at(a, (i + lane) * sa)) * static_cast<double>(f32_at(b, (i + lane) * sb));
    v[lane] += p;
    magnitude[lane] += std::fabs(p);
  };
  for (; i + 4 <= n; i += 4) {
    add(0);
    add(1);
    add(2);
    add(3);
  }
  for (; i < n; ++i) add(0);
  const double all = (magnitude[0] + magnitude[1]) + (magnitude[2] + magnitude[3]);
  // As Bounded's product: one rounding each, and no promise near the largest float.
  const double e = all < 0x1p127 ? Bounded::u * all + static_cast<double>(n) * 0x1p-149 : INFINITY;
  sum.v += (v[0] + v[1]) + (v[2] + v[3]);
  sum.e += e;
  sum.magnitude += all + e;
  sum.n += n;
}

}  // namespace edgewright::ops
