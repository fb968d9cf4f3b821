// src/runtime/kernels/elementwise.cc - one output element from the input elements of the same (broadcast) place.
#include "runtime/kernels/common.h"
#include "runtime/kernels/tables.h"

namespace edgewright::runtime {
namespace {

// Integer arithmetic wraps, as PyTorch's does on every machine it runs on.
template <class C>
C add(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}
template <class C>
C sub(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  else
    return a - b;
}
template <class C>
C mul(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  else
    return a * b;
}
template <class C>
C negate(C a) {
  if constexpr (std::is_floating_point_v<C>)
    return -a;
  else
    return sub(C{0}, a);
}

template <class C>
constexpr bool is_nan(C v) {
  if constexpr (std::is_floating_point_v<C>)
    return v != v;
  else
    return false;
}

// A scalar as PyTorch compares and clamps with it: rounded to the element type.
template <class C>
C rounded(const EValue& v, DType t) {
  const C x = scalar_as<C>(v);
  std::byte place[8];
  C y;
  store_block<C>(t, place, 1, 1, &x);
  load_block<C>(t, place, 1, 1, &y);
  return y;
}

DType float_type(DType t) { return is_float(t) ? t : DType::f32; }

// --- unary ---

// Any element type; computed in the input's.
template <auto Op>
Result<void> unary(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(1);
  EW_TRY(c.ok());
  if (!plain({&x, &out})) return c.unsupported(x.dtype);
  EW_TRY(c.resize(out, x.shape()));
  visit_compute(compute_of(x.dtype),
                [&]<class C>(C) { map<C, 1>(c.pool(), out, {&x}, [](C v) -> C { return static_cast<C>(Op(v)); }); });
  return {};
}

// Ints and bools become f32.
template <auto Op>
Result<void> unary_float(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(1);
  EW_TRY(c.ok());
  if (!plain({&x, &out})) return c.unsupported(x.dtype);
  EW_TRY(c.resize(out, x.shape()));
  const auto run = [&]<class C>(C) { map<C, 1>(c.pool(), out, {&x}, [](C v) -> C { return Op(v); }); };
  x.dtype == DType::f64 ? run(double{}) : run(float{});
  return {};
}

constexpr auto kAbs = [](auto v) {
  return v < 0 ? negate(v) : std::is_floating_point_v<decltype(v)> && v == 0 ? decltype(v){0} : v;
};
constexpr auto kSign = [](auto v) { return is_nan(v) ? decltype(v){0} : static_cast<decltype(v)>((v > 0) - (v < 0)); };
constexpr auto kFloor = [](auto v) {
  if constexpr (std::is_integral_v<decltype(v)>)
    return v;
  else
    return std::floor(v);
};
constexpr auto kCeil = [](auto v) {
  if constexpr (std::is_integral_v<decltype(v)>)
    return v;
  else
    return std::ceil(v);
};
constexpr auto kRound = [](auto v) {
  if constexpr (std::is_integral_v<decltype(v)>)
    return v;
  else
    return std::nearbyint(v);
};
constexpr auto kTrunc = [](auto v) {
  if constexpr (std::is_integral_v<decltype(v)>)
    return v;
  else
    return std::trunc(v);
};
constexpr auto kRelu = [](auto v) { return v > 0 || is_nan(v) ? v : decltype(v){0}; };
constexpr auto kNot = [](auto v) { return v == 0; };
constexpr auto kIsNan = [](auto v) { return is_nan(v); };
constexpr auto kIsInf = [](auto v) {
  if constexpr (std::is_floating_point_v<decltype(v)>)
    return std::isinf(v);
  else
    return false;
};
constexpr auto kSigmoid = [](auto v) { return decltype(v){1} / (decltype(v){1} + std::exp(-v)); };
constexpr auto kSilu = [](auto v) { return v / (decltype(v){1} + std::exp(-v)); };

Result<void> bitwise_not(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(1);
  EW_TRY(c.ok());
  if (!is_int(x.dtype) && !is_bool(x.dtype)) return c.unsupported(x.dtype);
  if (!plain({&out})) return c.unsupported(out.dtype);
  EW_TRY(c.resize(out, x.shape()));
  if (is_bool(x.dtype))
    map<int64_t, 1>(c.pool(), out, {&x}, [](int64_t v) -> int64_t { return v == 0; });
  else
    map<int64_t, 1>(c.pool(), out, {&x}, [](int64_t v) { return ~v; });
  return {};
}

// gelu(x, approximate)
Result<void> gelu(Call& c) {
  const Tensor& x = c.in(0);
  const std::string_view how = c.text(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (!is_float(x.dtype) || !plain({&out})) return c.unsupported(x.dtype);
  if (how != "none" && how != "tanh") return c.fail(Code::kMalformed, "approximate is '{}'", how);
  EW_TRY(c.resize(out, x.shape()));
  const auto run = [&]<class C>(C) {
    if (how == "none")
      map<C, 1>(c.pool(), out, {&x},
                [](C v) -> C { return C{0.5} * v * (C{1} + std::erf(v * static_cast<C>(M_SQRT1_2))); });
    else
      map<C, 1>(c.pool(), out, {&x}, [](C v) -> C {
        return C{0.5} * v *
               (C{1} +
                std::tanh(static_cast<C>(M_SQRT2 * M_2_SQRTPI * 0.5) * (v + static_cast<C>(0.044715) * v * v * v)));
      });
  };
  x.dtype == DType::f64 ? run(double{}) : run(float{});
  return {};
}

// One tensor and scalar parameters, in float: f(x, p...) with the scalars at 1..N.
template <size_t N, auto Op>
Result<void> parametric(Call& c) {
  const Tensor& x = c.in(0);
  double p[N];
  for (size_t i = 0; i < N; ++i) p[i] = c.real(1 + i);
  Tensor& out = c.out(1 + N);
  EW_TRY(c.ok());
  if (!is_float(x.dtype) || !plain({&out})) return c.unsupported(x.dtype);
  EW_TRY(c.resize(out, x.shape()));
  const auto run = [&]<class C>(C) {
    C q[N];
    for (size_t i = 0; i < N; ++i) q[i] = static_cast<C>(p[i]);
    map<C, 1>(c.pool(), out, {&x}, [&](C v) -> C { return Op(v, q); });
  };
  x.dtype == DType::f64 ? run(double{}) : run(float{});
  return {};
}
constexpr auto kLeakyRelu = [](auto v, const auto* p) { return v > 0 ? v : v * p[0]; };
// alpha, scale, input_scale
constexpr auto kElu = [](auto v, const auto* p) { return v > 0 ? v * p[1] : std::expm1(v * p[2]) * (p[0] * p[1]); };

Result<void> logit(Call& c) {
  const Tensor& x = c.in(0);
  const bool clamp = !c.none(1);
  const double eps = c.real_or(1, 0);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (!plain({&x, &out})) return c.unsupported(x.dtype);
  EW_TRY(c.resize(out, x.shape()));
  const auto run = [&]<class C>(C) {
    const C lo = static_cast<C>(eps), hi = C{1} - lo;
    map<C, 1>(c.pool(), out, {&x}, [=](C v) -> C {
      if (clamp) v = v < lo ? lo : v > hi ? hi : v;
      return std::log(v / (C{1} - v));
    });
  };
  x.dtype == DType::f64 ? run(double{}) : run(float{});
  return {};
}

// clamp(x, min?, max?): NaN stays NaN, min > max gives max.
template <class C>
C clamp1(C v, C lo, C hi) {
  const C t = v < lo || is_nan(lo) ? lo : v;
  return t > hi || is_nan(hi) ? hi : t;
}

// hardtanh(x, min_val, max_val): the bounds become numbers of x's dtype first (kOwn).
template <bool kOwn = false>
Result<void> clamp(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(3);
  const EValue* lo = c.none(1) ? nullptr : &c.scalar(1);
  const EValue* hi = c.none(2) ? nullptr : &c.scalar(2);
  EW_TRY(c.ok());
  if (!plain({&x, &out})) return c.unsupported(x.dtype);
  EW_TRY(c.resize(out, x.shape()));
  DType common = x.dtype;
  if (lo && !kOwn) common = result_type(x, *lo);
  if (hi && !kOwn) common = promote(common, result_type(x, *hi));
  visit_compute(compute_of(common), [&]<class C>(C) {
    const C least =
        std::is_floating_point_v<C> ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();
    const C most = std::is_floating_point_v<C> ? std::numeric_limits<C>::infinity() : std::numeric_limits<C>::max();
    const auto bound = [&](const EValue& v) {
      return kOwn && !is_float(common) ? scalar_as<C>(v) : rounded<C>(v, common);
    };
    const C a = lo ? bound(*lo) : least, b = hi ? bound(*hi) : most;
    map<C, 1>(c.pool(), out, {&x}, [=](C v) { return clamp1(v, a, b); });
  });
  return {};
}

Result<void> clamp_tensor(Call& c) {
  const Tensor& x = c.in(0);
  const Tensor *lo = c.optional_in(1), *hi = c.optional_in(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  const Tensor &l = lo ? *lo : x, &h = hi ? *hi : x;
  if (!plain({&x, &l, &h, &out})) return c.unsupported(x.dtype);
  EW_TRY(resize_broadcast(c, out, {&x, &l, &h}));
  const DType common = promote(result_type(x, l), result_type(x, h));
  visit_compute(compute_of(common), [&]<class C>(C) {
    map<C, 3>(c.pool(), out, {&x, &l, &h}, [&](C v, C a, C b) -> C {
      C t = lo && (v < a || is_nan(a)) && !is_nan(v) ? a : v;
      return hi && (t > b || is_nan(b)) && !is_nan(t) ? b : t;
    });
  });
  return {};
}

// --- binary ---

// A scalar operand as a 0-d tensor, so that kernels of two tensors serve scalars too.
struct ScalarTensor {
  alignas(8) std::byte place[8];
  Tensor t;
  ScalarTensor(const EValue& v, DType common) {
    t.dtype = compute_of(common) == Compute::kInt ? DType::i64 : DType::f64;
    t.data = place;
    t.capacity = 8;
    if (t.dtype == DType::i64)
      *t.as<int64_t>() = rounded<int64_t>(v, common);  // -3 is 253 to u8
    else
      *t.as<double>() = scalar_as<double>(v);
  }
};

// How the compute type follows from the operands' common type.
enum class In : uint8_t { kCommon, kFloat };  // kFloat: ints become f32

template <class F>
Result<void> binary_on(Call& c, const Tensor& a, const Tensor& b, DType common, Tensor& out, F&& f) {
  if (!plain({&a, &b, &out})) return c.unsupported(plain({&a}) ? b.dtype : a.dtype);
  EW_TRY(resize_broadcast(c, out, {&a, &b}));
  visit_compute(compute_of(common), [&]<class C>(C) {
    map<C, 2>(c.pool(), out, {&a, &b}, [&](C x, C y) -> C { return static_cast<C>(f(x, y)); });
  });
  return {};
}

// op(a, s): tensor and scalar.
template <auto Op, In in = In::kCommon>
Result<void> binary_scalar(Call& c) {
  const Tensor& a = c.in(0);
  const EValue& s = c.scalar(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  DType common = result_type(a, s);
  if (in == In::kFloat) common = float_type(common);
  const ScalarTensor b(s, common);
  return binary_on(c, a, b.t, common, out, Op);
}
// op(a, b): tensors; b may be a number, too, as PyTorch has it.
template <auto Op, In in = In::kCommon>
Result<void> binary(Call& c) {
  if (c.is_number(1)) return binary_scalar<Op, in>(c);
  const Tensor &a = c.in(0), &b = c.in(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  DType common = result_type(a, b);
  if (in == In::kFloat) common = float_type(common);
  return binary_on(c, a, b, common, out, Op);
}

constexpr auto kMul = [](auto a, auto b) { return mul(a, b); };
constexpr auto kDiv = [](auto a, auto b) { return a / b; };
constexpr auto kEq = [](auto a, auto b) { return a == b; };
constexpr auto kNe = [](auto a, auto b) { return a != b; };
constexpr auto kLt = [](auto a, auto b) { return a < b; };
constexpr auto kLe = [](auto a, auto b) { return a <= b; };
constexpr auto kGt = [](auto a, auto b) { return a > b; };
constexpr auto kGe = [](auto a, auto b) { return a >= b; };
constexpr auto kAnd = [](auto a, auto b) { return a != 0 && b != 0; };
constexpr auto kOr = [](auto a, auto b) { return a != 0 || b != 0; };
constexpr auto kXor = [](auto a, auto b) { return (a != 0) != (b != 0); };
constexpr auto kMax = [](auto a, auto b) { return is_nan(a) || a > b ? a : b; };
constexpr auto kMin = [](auto a, auto b) { return is_nan(a) || a < b ? a : b; };
constexpr auto kAtan2 = [](auto a, auto b) { return std::atan2(a, b); };

// Comparisons with a scalar: the scalar is rounded to the element type first.
template <auto Op>
Result<void> compare_scalar(Call& c) {
  const Tensor& a = c.in(0);
  const EValue& s = c.scalar(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (!plain({&a, &out})) return c.unsupported(a.dtype);
  EW_TRY(c.resize(out, a.shape()));
  const DType common = result_type(a, s);
  visit_compute(compute_of(common), [&]<class C>(C) {
    const C y = compute_of(common) == Compute::kInt ? scalar_as<C>(s) : rounded<C>(s, common);
    map<C, 1>(c.pool(), out, {&a}, [y](C x) -> C { return static_cast<C>(Op(x, y)); });
  });
  return {};
}

// add and sub take alpha: a + alpha * b.
template <bool subtract, bool reverse = false>
Result<void> add_on(Call& c, const Tensor& a, const Tensor& b, DType common, const EValue& alpha, Tensor& out) {
  if (!plain({&a, &b, &out})) return c.unsupported(plain({&a}) ? b.dtype : a.dtype);
  EW_TRY(resize_broadcast(c, out, {&a, &b}));
  visit_compute(compute_of(common), [&]<class C>(C) {
    const C k = scalar_as<C>(alpha);
    map<C, 2>(c.pool(), out, {&a, &b}, [k](C x, C y) -> C {
      if constexpr (reverse)
        return sub(y, mul(k, x));
      else if constexpr (subtract)
        return sub(x, mul(k, y));
      else
        return add(x, mul(k, y));
    });
  });
  return {};
}
template <bool subtract, bool reverse = false>
Result<void> add_scalar(Call& c) {
  const Tensor& a = c.in(0);
  const EValue &s = c.scalar(1), &alpha = c.scalar(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  const DType common = result_type(a, s);
  const ScalarTensor b(s, common);
  return add_on<subtract, reverse>(c, a, b.t, common, alpha, out);
}
template <bool subtract>
Result<void> add_tensor(Call& c) {
  if (c.is_number(1)) return add_scalar<subtract>(c);
  const Tensor &a = c.in(0), &b = c.in(1);
  const EValue& alpha = c.scalar(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  return add_on<subtract>(c, a, b, result_type(a, b), alpha, out);
}

// Whether an integer tensor has a zero: dividing by it is an error in PyTorch, too.
bool has_zero(const Tensor& t) {
  bool zero = false;
  const Nest<1> nest(t.shape(), {t.strides});
  nest.run(0, nest.total, [&](const std::array<int64_t, 1>& at, int64_t n) {
    for (int64_t i = 0; i < n && !zero; ++i)
      zero = load_one<int64_t>(t, at[0] + i * nest.strides[nest.rank - 1][0]) == 0;
  });
  return zero;
}

enum class Divide : uint8_t { kFloor, kTrunc, kRemainder, kFmod };

// All four come from one truncated quotient and rest.
template <Divide how, class C>
C divide(C a, C b) {
  if constexpr (std::is_integral_v<C>) {
    if (b == -1) return how == Divide::kFloor || how == Divide::kTrunc ? negate(a) : 0;
    const C q = a / b, r = a % b;
    const bool adjust = r != 0 && (r < 0) != (b < 0);
    if (how == Divide::kTrunc) return q;
    if (how == Divide::kFmod) return r;
    if (how == Divide::kFloor) return adjust ? q - 1 : q;
    return adjust ? r + b : r;
  } else {
    if (how == Divide::kTrunc) return std::trunc(a / b);
    const C r = std::fmod(a, b);
    if (how == Divide::kFmod) return r;
    if (how == Divide::kRemainder) return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    // Floor, exact where a / b itself would round up to an integer.
    if (b == 0) return a / b;
    C q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) q -= 1;
    if (q == 0) return std::copysign(C{0}, a / b);
    const C f = std::floor(q);
    return q - f > C{0.5} ? f + 1 : f;
  }
}

template <Divide how>
Result<void> divide_on(Call& c, const Tensor& a, const Tensor& b, DType common, Tensor& out) {
  if (!plain({&a, &b})) return c.unsupported(plain({&a}) ? b.dtype : a.dtype);
  if (compute_of(common) == Compute::kInt && has_zero(b)) return c.fail(Code::kUsage, "integer division by zero");
  return binary_on(c, a, b, common, out, [](auto x, auto y) { return divide<how>(x, y); });
}
template <Divide how>
Result<void> divide_tensor(Call& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  return divide_on<how>(c, a, b, result_type(a, b), out);
}
template <Divide how>
Result<void> divide_scalar(Call& c) {
  const Tensor& a = c.in(0);
  const EValue& s = c.scalar(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  const DType common = result_type(a, s);
  const ScalarTensor b(s, common);
  return divide_on<how>(c, a, b.t, common, out);
}
Result<void> divide_mode(Call& c, const Tensor& a, const Tensor& b, DType common) {
  const std::string_view mode = c.none(2) ? std::string_view() : c.text(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (mode == "floor") return divide_on<Divide::kFloor>(c, a, b, common, out);
  if (mode == "trunc") return divide_on<Divide::kTrunc>(c, a, b, common, out);
  if (!mode.empty()) return c.fail(Code::kMalformed, "rounding mode '{}'", mode);
  return binary_on(c, a, b, float_type(common), out, kDiv);
}
Result<void> div_mode_tensor(Call& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  return divide_mode(c, a, b, result_type(a, b));
}
Result<void> div_mode_scalar(Call& c) {
  const Tensor& a = c.in(0);
  const EValue& s = c.scalar(1);
  const DType common = result_type(a, s);
  const ScalarTensor b(s, common);
  return divide_mode(c, a, b.t, common);
}

enum class Bits : uint8_t { kAnd, kOr, kXor, kLeft, kRight };

template <Bits how>
Result<void> bits_on(Call& c, const Tensor& a, const Tensor& b, DType common, Tensor& out) {
  if (is_float(common)) return c.unsupported(common);
  const auto width = static_cast<int64_t>(8 * size_of(common));
  return binary_on(c, a, b, common, out, [width](auto x, auto y) -> int64_t {
    const auto p = static_cast<int64_t>(x), q = static_cast<int64_t>(y);
    switch (how) {
      case Bits::kAnd: return p & q;
      case Bits::kOr: return p | q;
      case Bits::kXor: return p ^ q;
      case Bits::kLeft: return q < 0 || q >= width ? 0 : static_cast<int64_t>(static_cast<uint64_t>(p) << q);
      case Bits::kRight: return p >> (q < 0 || q >= width ? std::min<int64_t>(width - 1, 63) : q);
    }
  });
}
template <Bits how>
Result<void> bits_tensor(Call& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  return bits_on<how>(c, a, b, result_type(a, b), out);
}
template <Bits how>
Result<void> bits_scalar(Call& c) {
  const Tensor& a = c.in(0);
  const EValue& s = c.scalar(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  const DType common = result_type(a, s);
  const ScalarTensor b(s, common);
  return bits_on<how>(c, a, b.t, common, out);
}

// Integer powers by squaring; a negative exponent gives the truncated reciprocal.
int64_t int_pow(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  int64_t r = 1;
  for (; exponent > 0; exponent >>= 1, base = mul(base, base))
    if (exponent & 1) r = mul(r, base);
  return r;
}
constexpr auto kPow = [](auto a, auto b) {
  if constexpr (std::is_integral_v<decltype(a)>)
    return int_pow(a, b);
  else
    return std::pow(a, b);
};

Result<void> pow_scalar(Call& c) {
  const Tensor& a = c.in(0);
  const EValue& s = c.scalar(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  const DType common = result_type(a, s);
  if (is_float(common)) {
    // The exponents that PyTorch computes without pow.
    const double e = scalar_as<double>(s);
    const auto run = [&](auto f) { return binary_on(c, a, ScalarTensor(s, common).t, common, out, f); };
    if (e == 2) return run([](auto x, auto) { return x * x; });
    if (e == 3) return run([](auto x, auto) { return x * x * x; });
    if (e == 0.5) return run([](auto x, auto) { return std::sqrt(static_cast<double>(x)); });
    if (e == -0.5) return run([](auto x, auto) { return decltype(x){1} / static_cast<decltype(x)>(std::sqrt(x)); });
    if (e == -1) return run([](auto x, auto) { return decltype(x){1} / x; });
    if (e == -2) return run([](auto x, auto) { return decltype(x){1} / (x * x); });
  }
  const ScalarTensor b(s, common);
  return binary_on(c, a, b.t, common, out, kPow);
}
Result<void> pow_of_scalar(Call& c) {
  const EValue& s = c.scalar(0);
  const Tensor& b = c.in(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  const DType common = result_type(b, s);
  const ScalarTensor a(s, common);
  return binary_on(c, a.t, b, common, out, kPow);
}

// where(condition, self, other)
Result<void> where(Call& c) {
  const Tensor &cond = c.in(0), &a = c.in(1), &b = c.in(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (!plain({&cond, &a, &b, &out})) return c.unsupported(a.dtype);
  EW_TRY(resize_broadcast(c, out, {&cond, &a, &b}));
  visit_compute(compute_of(result_type(a, b)), [&]<class C>(C) {
    map<C, 3>(c.pool(), out, {&cond, &a, &b}, [](C p, C x, C y) { return p != 0 ? x : y; });
  });
  return {};
}

// masked_fill(self, mask, value)
Result<void> masked_fill(Call& c) {
  const Tensor &x = c.in(0), &mask = c.in(1);
  const EValue& v = c.scalar(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (!plain({&x, &mask, &out})) return c.unsupported(x.dtype);
  EW_TRY(resize_broadcast(c, out, {&x, &mask}));
  visit_compute(compute_of(x.dtype), [&]<class C>(C) {
    const C fill = scalar_as<C>(v, out.dtype);
    map<C, 2>(c.pool(), out, {&x, &mask}, [fill](C a, C m) { return m != 0 ? fill : a; });
  });
  return {};
}

// glu(self, dim): first half times the sigmoid of the second.
Result<void> glu(Call& c) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(1, x.rank);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (x.rank == 0 || x.sizes[dim] % 2 != 0) return c.fail(Code::kUsage, "the dimension to halve is odd");
  if (!is_float(x.dtype) || !plain({&out})) return c.unsupported(x.dtype);
  Shape s = shape_of(x);
  s[dim] /= 2;
  EW_TRY(c.resize(out, s.span()));
  Tensor a = x, b = x;
  a.sizes[dim] = b.sizes[dim] = s[dim];
  b.data += s[dim] * x.strides[dim] * static_cast<int64_t>(size_of(x.dtype));
  const auto run = [&]<class C>(C) {
    map<C, 2>(c.pool(), out, {&a, &b}, [](C p, C q) -> C { return p / (C{1} + std::exp(-q)); });
  };
  x.dtype == DType::f64 ? run(double{}) : run(float{});
  return {};
}

#define EW_MATH(f) unary_float<[](auto v) { return std::f(v); }>

constexpr Kernel kTable[] = {
    {"aten::abs.out", unary<kAbs>},
    {"aten::acos.out", EW_MATH(acos)},
    {"aten::acosh.out", EW_MATH(acosh)},
    {"aten::add.Scalar_out", add_scalar<false>},
    {"aten::add.out", add_tensor<false>},
    {"aten::asin.out", EW_MATH(asin)},
    {"aten::asinh.out", EW_MATH(asinh)},
    {"aten::atan.out", EW_MATH(atan)},
    {"aten::atan2.out", binary<kAtan2, In::kFloat>},
    {"aten::atanh.out", EW_MATH(atanh)},
    {"aten::bitwise_and.Scalar_out", bits_scalar<Bits::kAnd>},
    {"aten::bitwise_and.Tensor_out", bits_tensor<Bits::kAnd>},
    {"aten::bitwise_left_shift.Tensor_Scalar_out", bits_scalar<Bits::kLeft>},
    {"aten::bitwise_left_shift.Tensor_out", bits_tensor<Bits::kLeft>},
    {"aten::bitwise_not.out", bitwise_not},
    {"aten::bitwise_or.Scalar_out", bits_scalar<Bits::kOr>},
    {"aten::bitwise_or.Tensor_out", bits_tensor<Bits::kOr>},
    {"aten::bitwise_right_shift.Tensor_Scalar_out", bits_scalar<Bits::kRight>},
    {"aten::bitwise_right_shift.Tensor_out", bits_tensor<Bits::kRight>},
    {"aten::bitwise_xor.Scalar_out", bits_scalar<Bits::kXor>},
    {"aten::bitwise_xor.Tensor_out", bits_tensor<Bits::kXor>},
    {"aten::ceil.out", unary<kCeil>},
    {"aten::clamp.Tensor_out", clamp_tensor},
    {"aten::clamp.out", clamp<>},
    {"aten::cos.out", EW_MATH(cos)},
    {"aten::cosh.out", EW_MATH(cosh)},
    {"aten::div.Scalar_mode_out", div_mode_scalar},
    {"aten::div.Scalar_out", binary_scalar<kDiv, In::kFloat>},
    {"aten::div.out", binary<kDiv, In::kFloat>},
    {"aten::div.out_mode", div_mode_tensor},
    {"aten::elu.out", parametric<3, kElu>},
    {"aten::eq.Scalar_out", compare_scalar<kEq>},
    {"aten::eq.Tensor_out", binary<kEq>},
    {"aten::erf.out", EW_MATH(erf)},
    {"aten::exp.out", EW_MATH(exp)},
    {"aten::expm1.out", EW_MATH(expm1)},
    {"aten::floor.out", unary<kFloor>},
    {"aten::floor_divide.out", divide_tensor<Divide::kFloor>},
    {"aten::fmod.Scalar_out", divide_scalar<Divide::kFmod>},
    {"aten::fmod.Tensor_out", divide_tensor<Divide::kFmod>},
    {"aten::ge.Scalar_out", compare_scalar<kGe>},
    {"aten::ge.Tensor_out", binary<kGe>},
    {"aten::gelu.out", gelu},
    {"aten::glu.out", glu},
    {"aten::gt.Scalar_out", compare_scalar<kGt>},
    {"aten::gt.Tensor_out", binary<kGt>},
    {"aten::hardtanh.out", clamp<true>},
    {"aten::isinf.out", unary<kIsInf>},
    {"aten::isnan.out", unary<kIsNan>},
    {"aten::le.Scalar_out", compare_scalar<kLe>},
    {"aten::le.Tensor_out", binary<kLe>},
    {"aten::leaky_relu.out", parametric<1, kLeakyRelu>},
    {"aten::log.out", EW_MATH(log)},
    {"aten::log10.out", EW_MATH(log10)},
    {"aten::log1p.out", EW_MATH(log1p)},
    {"aten::log2.out", EW_MATH(log2)},
    {"aten::logical_and.out", binary<kAnd>},
    {"aten::logical_not.out", unary<kNot>},
    {"aten::logical_or.out", binary<kOr>},
    {"aten::logical_xor.out", binary<kXor>},
    {"aten::logit.out", logit},
    {"aten::lt.Scalar_out", compare_scalar<kLt>},
    {"aten::lt.Tensor_out", binary<kLt>},
    {"aten::masked_fill.Scalar_out", masked_fill},
    {"aten::maximum.out", binary<kMax>},
    {"aten::minimum.out", binary<kMin>},
    {"aten::mul.Scalar_out", binary_scalar<kMul>},
    {"aten::mul.out", binary<kMul>},
    {"aten::ne.Scalar_out", compare_scalar<kNe>},
    {"aten::ne.Tensor_out", binary<kNe>},
    {"aten::neg.out", unary<[](auto v) { return negate(v); }>},
    {"aten::pow.Scalar_out", pow_of_scalar},
    {"aten::pow.Tensor_Scalar_out", pow_scalar},
    {"aten::pow.Tensor_Tensor_out", binary<kPow>},
    {"aten::reciprocal.out", unary_float<[](auto v) { return decltype(v){1} / v; }>},
    {"aten::relu.out", unary<kRelu>},
    {"aten::remainder.Scalar_out", divide_scalar<Divide::kRemainder>},
    {"aten::remainder.Tensor_out", divide_tensor<Divide::kRemainder>},
    {"aten::round.out", unary<kRound>},
    {"aten::rsqrt.out", unary_float<[](auto v) { return decltype(v){1} / std::sqrt(v); }>},
    {"aten::rsub.Scalar_out", add_scalar<true, true>},
    {"aten::sigmoid.out", unary_float<kSigmoid>},
    {"aten::sign.out", unary<kSign>},
    {"aten::silu.out", unary_float<kSilu>},
    {"aten::sin.out", EW_MATH(sin)},
    {"aten::sinh.out", EW_MATH(sinh)},
    {"aten::sqrt.out", EW_MATH(sqrt)},
    {"aten::sub.Scalar_out", add_scalar<true>},
    {"aten::sub.out", add_tensor<true>},
    {"aten::tan.out", EW_MATH(tan)},
    {"aten::tanh.out", EW_MATH(tanh)},
    {"aten::trunc.out", unary<kTrunc>},
    {"aten::where.self_out", where},
};
static_assert(sorted_by_name(kTable));

}  // namespace
const std::span<const Kernel> kElementwiseKernels = kTable;
}  // namespace edgewright::runtime
