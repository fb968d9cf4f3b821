#include "interp/compare.h"

#include <cmath>
#include <cstring>

#include "ops/families.h"

namespace edgewright::interp {

Tolerance default_tolerance(DType t) {
  switch (t) {
    case DType::f32:
    case DType::f64:
    case DType::c64:
    case DType::c128: return {1e-4, 1e-4};
    case DType::f16:
    case DType::c32: return {5e-3, 5e-3};
    case DType::bf16: return {2e-2, 2e-2};
    default: return {};
  }
}

namespace {
// Complex numbers as pairs of floats, quantized ones as their integers, 8-bit floats as bytes: same sizes first.
DType readable_as(DType t, bool& is_pair) {
  is_pair = true;
  if (t == DType::c32) return DType::f16;
  if (t == DType::c64) return DType::f32;
  if (t == DType::c128) return DType::f64;
  is_pair = false;
  if (t == DType::qi8) return DType::i8;
  if (t == DType::qi32) return DType::i32;
  return ops::is_number(t) ? t : DType::u8;
}
std::string type_text(const ir::Tensor& t) {
  return ir::str(ir::Type(ir::TensorType{t.dtype, ir::Shape(t.sizes.begin(), t.sizes.end())}));
}
}  // namespace

Comparison compare(const ir::Tensor& a, const ir::Tensor& b, Tolerance tolerance) {
  Comparison c;
  if (a.dtype != b.dtype || a.sizes != b.sizes) {
    c.mismatch = type_text(a) + " against " + type_text(b);
    return c;
  }
  const ir::Tensor x = a.contiguous(), y = b.contiguous();
  bool is_pair;
  const DType t = readable_as(a.dtype, is_pair);
  c.elements = x.numel() * (is_pair ? 2 : 1);
  int64_t first = -1;
  double signal = 0, noise = 0;
  for (int64_t i = 0; i < c.elements; ++i) {
    bool same;
    double p, q;
    if (is_float(t)) {
      p = ir::load_f(t, x.data, i);
      q = ir::load_f(t, y.data, i);
      same =
          p == q || (p != p && q != q) ||
          (std::isfinite(p) && std::isfinite(q) && std::fabs(p - q) <= tolerance.atol + tolerance.rtol * std::fabs(q));
    } else {
      const int64_t k = ir::load_i(t, x.data, i), l = ir::load_i(t, y.data, i);
      same = k == l;
      p = static_cast<double>(k);
      q = static_cast<double>(l);
    }
    if (std::isfinite(p) && std::isfinite(q)) {
      const double error = std::fabs(p - q);
      c.max_abs = std::max(c.max_abs, error);
      if (q != 0) c.max_rel = std::max(c.max_rel, error / std::fabs(q));
      signal += q * q;
      noise += error * error;
    }
    if (same) continue;
    if (c.different++ == 0) {
      first = i;
      c.first_a = p;
      c.first_b = q;
    }
  }
  c.sqnr_db = noise == 0 ? INFINITY : 10 * std::log10(signal / noise);
  if (first >= 0) {
    int64_t place = is_pair ? first / 2 : first;
    c.first.resize(x.sizes.size());
    for (size_t d = c.first.size(); d-- > 0; place /= x.sizes[d]) c.first[d] = place % x.sizes[d];
  }
  return c;
}

std::string Comparison::str() const {
  if (!mismatch.empty()) return mismatch;
  std::string s;
  if (different > 0) {
    s = fmt::format("{} of {} differ, first at [", different, elements);
    for (size_t i = 0; i < first.size(); ++i) s += fmt::format("{}{}", i ? "," : "", first[i]);
    s += fmt::format("]: {:.9g} against {:.9g}, ", first_a, first_b);
  } else if (max_abs == 0) {
    return "equal";
  }
  return s + fmt::format("max abs {:.3g}, max rel {:.3g}, SQNR {:.1f} dB", max_abs, max_rel, sqnr_db);
}

}  // namespace edgewright::interp
