#include "ops/quantization.h"

#include <cmath>

#include "ops/dense.h"

namespace edgewright::ops {

int64_t cast_to_quantized(DType t, double v) {
  if (size_of(t) > 4) return float_to_int(v);
  return cast_i(t, v > -0x1p31 - 1 && v < 0x1p31 ? static_cast<int64_t>(v) : INT32_MIN);
}

std::optional<std::pair<int64_t, int64_t>> quantized_range(DType t) {
  switch (t) {
    case DType::u8: return {{0, 255}};
    case DType::i8: return {{-128, 127}};
    case DType::u16: return {{0, 65535}};
    case DType::i16: return {{-32768, 32767}};
    case DType::i32: return {{INT32_MIN, INT32_MAX}};
    default: return std::nullopt;
  }
}

ParamBlocks ParamBlocks::one(std::vector<int64_t> sizes) {
  const size_t rank = sizes.size();
  return {std::move(sizes), std::vector<int64_t>(rank, 1), std::vector<int64_t>(rank, 0)};
}
ParamBlocks ParamBlocks::along(std::vector<int64_t> sizes, int64_t axis, int64_t count) {
  ParamBlocks b = one(std::move(sizes));
  if (count > 1) b.stride[static_cast<size_t>(axis)] = 1;
  return b;
}
ParamBlocks ParamBlocks::broadcast(std::vector<int64_t> sizes, std::span<const int64_t> params) {
  ParamBlocks b = one(std::move(sizes));
  int64_t step = 1;
  for (size_t d = params.size(), to = b.sizes.size(); d-- > 0 && to-- > 0; step *= params[d])
    if (params[d] != 1) b.stride[to] = step;
  return b;
}
ParamBlocks ParamBlocks::blocks(std::vector<int64_t> sizes, std::span<const int64_t> block) {
  ParamBlocks b{std::move(sizes), {block.begin(), block.end()}, {}};
  b.stride.resize(b.sizes.size());
  int64_t step = 1;
  for (size_t d = b.sizes.size(); d-- > 0;) {
    b.block[d] = std::max<int64_t>(b.block[d], 1);
    const int64_t count = b.sizes[d] / b.block[d];
    if (count > 1) b.stride[d] = step;
    step *= std::max<int64_t>(count, 1);
  }
  return b;
}

QuantParam QuantParam::of(const Call& c, std::string_view param) {
  QuantParam p;
  if (!c.has(param)) {
    p.is_none = true;
  } else if (c.number_kind(param)) {
    p.number = c.scalar(param);
    p.is_int = !p.number.is_float();
  } else if (p.operand = c.operand(param); p.operand >= 0) {
    p.sizes = ir::static_sizes(c.type(p.operand).shape);
    p.is_int = !is_float(c.type(p.operand).dtype);
  }
  return p;
}
std::vector<double> QuantParam::values(std::span<const ir::Tensor> in) const {
  std::vector<double> v = operand < 0 ? std::vector{number.f} : to_doubles(in[static_cast<size_t>(operand)]);
  for (double& x : v) x = rounded(x);
  return v;
}

// ---- quantize -------------------------------------------------------------------------------------------------------

namespace {

// Nearest, ties to even, without a library call. The sum is exact in units of 1 below 2^23; larger numbers are whole already.
inline float round_even(float x) {
  const float a = std::fabs(x);
  return a < 0x1p23F ? std::copysign((a + 0x1p23F) - 0x1p23F, x) : x;
}
inline double clamp_nan(double v, double lo, double hi) {
  if (v != v) return v;
  return std::min(std::max(v, lo), hi);
}
// The f32 form of Quantizing::operator() for the usual case that the bounds fit into 32 bits.
template <bool kEach>
void quantize_f32(const float* x, const float* inverse, const float* zero_point, float lo, float hi, int64_t n,
                  int32_t* out) {
  for (int64_t j = 0; j < n; ++j) {
    float v = round_even(x[j] * inverse[kEach ? j : 0]) + zero_point[kEach ? j : 0];
    v = v < lo ? lo : v;
    v = v > hi ? hi : v;
    out[j] = v >= -0x1p31F && v < 0x1p31F ? static_cast<int32_t>(v) : INT32_MIN;
  }
}
template <class T>
void narrow(const int32_t* from, std::byte* to, int64_t n) {
  T* t = reinterpret_cast<T*>(to);
  for (int64_t j = 0; j < n; ++j) t[j] = static_cast<T>(from[j]);
}
void narrow(DType t, const int32_t* from, std::byte* to, int64_t n) {
  switch (size_of(t)) {
    case 1: return narrow<uint8_t>(from, to, n);
    case 2: return narrow<uint16_t>(from, to, n);
    default: return narrow<uint32_t>(from, to, n);
  }
}
constexpr int64_t kBlock = 512;

}  // namespace

int64_t Quantizing::operator()(double x, double s, double z, double low, double high) const {
  double v = arithmetic(product, x * arithmetic(inverse, 1.0 / s));
  z = cast_f(sum, z);
  v = adds_before_rounding ? std::nearbyint(arithmetic(sum, v + z)) : arithmetic(sum, std::nearbyint(v) + z);
  return cast_to_quantized(out, clamp_nan(v, cast_f(sum, low), cast_f(sum, high)));
}

Point quantizing_point(Quantizing q, int input) {
  return int_point([q = std::move(q), input](const In& in, Index at) -> int64_t {
    const int64_t k = q.blocks(at);
    return q(in.f(input, at), q.scale.get(in, k), q.zero_point.get(in, k), q.lo.get(in, 0), q.hi.get(in, 0));
  });
}

void quantizing_whole(const Quantizing& q, std::span<const ir::Tensor> in, ir::Tensor& out) {
  const ir::Tensor x = in[0].contiguous();
  std::vector<double> scale = q.scale.values(in), zero = q.zero_point.values(in);
  const double lo = q.lo.values(in).at(0), hi = q.hi.values(in).at(0);
  std::byte* to = out.mutable_data();
  const int64_t width = static_cast<int64_t>(size_of(out.dtype));
  const bool in_f32 = q.product == DType::f32 && q.sum == DType::f32 && !q.adds_before_rounding && width <= 4;
  if (!in_f32) {
    std::array<double, kBlock> block;
    std::array<int64_t, kBlock> result;
    q.blocks.runs([&](int64_t first, int64_t count, int64_t place, int64_t step) {
      for (int64_t done = 0; done < count; done += kBlock) {
        const int64_t n = std::min(kBlock, count - done);
        load_block(x.dtype, x.data, first + done, 1, n, block.data());
        for (int64_t j = 0; j < n; ++j) {
          const size_t k = static_cast<size_t>(place + (done + j) * step);
          result[static_cast<size_t>(j)] = q(block[static_cast<size_t>(j)], scale[k], zero[k], lo, hi);
        }
        store_block(out.dtype, to, first + done, n, result.data());
      }
    });
    return;
  }
  std::vector<float> inverse(scale.size()), zero_point(zero.size());
  for (size_t k = 0; k < scale.size(); ++k) inverse[k] = static_cast<float>(arithmetic(q.inverse, 1.0 / scale[k]));
  for (size_t k = 0; k < zero.size(); ++k) zero_point[k] = static_cast<float>(zero[k]);
  const float low = static_cast<float>(lo), high = static_cast<float>(hi);
  std::array<double, kBlock> wide;
  std::array<float, kBlock> block;
  std::array<int32_t, kBlock> result;
  q.blocks.runs([&](int64_t first, int64_t count, int64_t place, int64_t step) {
    for (int64_t done = 0; done < count; done += kBlock) {
      const int64_t n = std::min(kBlock, count - done), at = first + done;
      const float* from = block.data();
      if (x.dtype == DType::f32) {
        from = reinterpret_cast<const float*>(x.data) + at;
      } else {
        load_block(x.dtype, x.data, at, 1, n, wide.data());
        for (int64_t j = 0; j < n; ++j)
          block[static_cast<size_t>(j)] = static_cast<float>(wide[static_cast<size_t>(j)]);
      }
      if (step == 1) {
        quantize_f32<true>(from, inverse.data() + place + done, zero_point.data() + place + done, low, high, n,
                           result.data());
      } else if (step == 0) {
        quantize_f32<false>(from, inverse.data() + place, zero_point.data() + place, low, high, n, result.data());
      } else {
        for (int64_t j = 0; j < n; ++j)
          quantize_f32<false>(from + j, inverse.data() + place + (done + j) * step,
                              zero_point.data() + place + (done + j) * step, low, high, 1, result.data() + j);
      }
      narrow(out.dtype, result.data(), to + at * width, n);
    }
  });
}

// ---- dequantize -----------------------------------------------------------------------------------------------------

double Dequantizing::operator()(int64_t x, double s, double z) const {
  double d;
  if (is_float(difference)) {
    d = cast_f(difference, static_cast<double>(x));
    if (!zero_point.is_none) d = arithmetic(difference, d - cast_f(difference, z));
  } else {
    d = static_cast<double>(zero_point.is_none ? x : cast_i(difference, wrap_sub(x, static_cast<int64_t>(z))));
  }
  return cast_f(out, arithmetic(product, cast_f(product, d) * s));
}

Bounded Dequantizing::element(int64_t x, Bounded s, Bounded z) const {
  const double v = (*this)(x, s.v, z.v), size = std::fabs(static_cast<double>(x) - z.v);
  const double round = is_float(difference) ? Bounded::u * size : 0;
  return Bounded::rounded(v, size * s.e + (std::fabs(s.v) + s.e) * (z.e + round) + Bounded::u * std::fabs(v));
}

Point dequantizing_point(Dequantizing d, int input) {
  return float_point([d = std::move(d), input](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    const int64_t k = d.blocks(at), x = in.i(input, at);
    const R s = d.scale.get(in, k), z = d.zero_point.is_none ? R(0.0) : d.zero_point.get(in, k);
    return d.element(x, s, z);
  });
}

void dequantizing_whole(const Dequantizing& d, std::span<const ir::Tensor> in, ir::Tensor& out) {
  const ir::Tensor x = in[0].contiguous();
  const std::vector<double> scale = d.scale.values(in), zero = d.zero_point.is_none
                                                                   ? std::vector<double>(scale.size(), 0.0)
                                                                   : d.zero_point.values(in);
  std::array<int64_t, kBlock> block;
  std::array<double, kBlock> result;
  std::byte* to = out.mutable_data();
  // Small integers whose difference every dtype here holds exactly: no step but the product rounds.
  bool is_plain = d.product == DType::f32 && out.dtype == DType::f32 && size_of(x.dtype) <= 2 &&
                  (d.difference == DType::f32 || d.difference == DType::i32 || d.difference == DType::i64);
  for (double z : zero) is_plain = is_plain && std::fabs(z) < 0x1p22 && z == std::trunc(z);
  const auto plain = [&]<class T>(const T* q) {
    float* y = reinterpret_cast<float*>(to);
    d.blocks.runs([&](int64_t first, int64_t count, int64_t place, int64_t step) {
      if (step == 0) {
        const float s = static_cast<float>(scale[static_cast<size_t>(place)]);
        const int32_t z = static_cast<int32_t>(zero[static_cast<size_t>(place)]);
        for (int64_t j = 0; j < count; ++j)
          y[first + j] = static_cast<float>(static_cast<int32_t>(q[first + j]) - z) * s;
        return;
      }
      for (int64_t j = 0; j < count; ++j) {
        const size_t k = static_cast<size_t>(place + j * step);
        y[first + j] = (static_cast<float>(q[first + j]) - static_cast<float>(zero[k])) * static_cast<float>(scale[k]);
      }
    });
  };
  if (is_plain) {
    switch (x.dtype) {
      case DType::i8: return plain(reinterpret_cast<const int8_t*>(x.data));
      case DType::u8: return plain(reinterpret_cast<const uint8_t*>(x.data));
      case DType::i16: return plain(reinterpret_cast<const int16_t*>(x.data));
      case DType::u16: return plain(reinterpret_cast<const uint16_t*>(x.data));
      default: break;
    }
  }
  d.blocks.runs([&](int64_t first, int64_t count, int64_t place, int64_t step) {
    for (int64_t done = 0; done < count; done += kBlock) {
      const int64_t n = std::min(kBlock, count - done);
      load_block(x.dtype, x.data, first + done, 1, n, block.data());
      for (int64_t j = 0; j < n; ++j) {
        const size_t k = static_cast<size_t>(place + (done + j) * step);
        result[static_cast<size_t>(j)] = d(block[static_cast<size_t>(j)], scale[k], zero[k]);
      }
      store_block(out.dtype, to, first + done, n, result.data());
    }
  });
}

// ---- definitions ----------------------------------------------------------------------------------------------------

OpDef quantizing_op(std::string schema, std::function<Result<Types>(const Call&)> infer,
                    std::function<Quantizing(const Call&)> resolve, std::string stock) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = std::move(infer);
  d.eval = [resolve](const Call& c, size_t) -> Result<Point> { return quantizing_point(resolve(c)); };
  d.whole = [resolve](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const Quantizing q = resolve(c);
    if (c.failed()) return {};
    quantizing_whole(q, in, out[0]);
    return {};
  };
  d.stock = std::move(stock);
  d.stock_limit = stock_limit_of_quantize;
  d.agreement = Agreement::kQuantized;
  return d;
}
OpDef dequantizing_op(std::string schema, std::function<Result<Types>(const Call&)> infer,
                      std::function<Dequantizing(const Call&)> resolve, std::string stock) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = std::move(infer);
  d.eval = [resolve](const Call& c, size_t) -> Result<Point> { return dequantizing_point(resolve(c)); };
  d.whole = [resolve](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const Dequantizing q = resolve(c);
    if (c.failed()) return {};
    dequantizing_whole(q, in, out[0]);
    return {};
  };
  d.stock = std::move(stock);
  d.stock_limit = stock_limit_of_dequantize;
  d.agreement = Agreement::kReassociated;
  return d;
}

ParamBlocks per_channel_blocks(const Call& c) {
  const Shape& scales = c.tensor("scales").shape;
  const int64_t count = scales.size() == 1 ? scales[0].maybe().value_or(1) : 1;
  return ParamBlocks::along(ir::static_sizes(c.type(0).shape), c.axis("axis", c.rank("input")), count);
}

namespace {
// Tensors with dims on both sides.
DType promoted(const Call& c, DType a, DType b) {
  const auto t = promote(a, b);
  if (!t) c.error(fmt::format("[quantize.6] {} and {} do not combine", name(a), name(b)));
  return t.value_or(a);
}
}  // namespace

void promote_steps(const Call& c, Quantizing& q, DType input, std::string_view scales, std::string_view zero_points) {
  const DType s = c.tensor(scales).dtype;
  q.inverse = is_float(s) ? s : kDefaultFloat;
  q.product = promoted(c, input, q.inverse);
  q.sum = promoted(c, q.product, c.tensor(zero_points).dtype);
}
void promote_steps(const Call& c, Dequantizing& d, std::string_view scales, std::string_view zero_points) {
  d.difference = c.type(0).dtype;
  if (!d.zero_point.is_none) d.difference = promoted(c, d.difference, c.tensor(zero_points).dtype);
  d.product = promoted(c, d.difference, c.tensor(scales).dtype);
  if (!is_float(d.product)) c.error(fmt::format("[quantize.6] {} is {}", scales, name(c.tensor(scales).dtype)));
}
Quantizing quantizing_by_lists(const Call& c, ParamBlocks blocks, DType computed, bool adds_before_rounding) {
  Quantizing q{.blocks = std::move(blocks),
               .scale = QuantParam::of(c, "scales"),
               .zero_point = QuantParam::of(c, "zero_points"),
               .lo = QuantParam::of(c, "quant_min"),
               .hi = QuantParam::of(c, "quant_max"),
               .adds_before_rounding = adds_before_rounding,
               .out = c.dtype("dtype").value_or(DType::i8)};
  promote_steps(c, q, computed, "scales", "zero_points");
  return q;
}
Dequantizing dequantizing_by_lists(const Call& c, ParamBlocks blocks, std::string_view out_dtype) {
  Dequantizing d{.blocks = std::move(blocks),
                 .scale = QuantParam::of(c, "scales"),
                 .zero_point = QuantParam::of(c, "zero_points"),
                 .out = c.dtype(out_dtype).value_or(DType::f32)};
  promote_steps(c, d, "scales", "zero_points");
  return d;
}
Types dequantized_type(const Call& c, std::string_view out_dtype) {
  if (!quantized_range(c.type(0).dtype))
    c.error(fmt::format("[quantize.2] {} holds no quantized values here", name(c.type(0).dtype)));
  const DType out = c.dtype(out_dtype).value_or(DType::f32);
  if (!is_float(out)) c.error(fmt::format("[dequantize.2] {} is {}", out_dtype, name(out)));
  return Types{TensorType{out, c.type(0).shape}};
}

// ---- the stock runtime ----------------------------------------------------------------------------------------------

namespace {
// The dtype of a parameter that may be named either way; nullopt where it is none or no tensor.
std::optional<DType> dtype_at(const ir::Node& n, const char* one, const char* many) {
  const char* param = n.op().schema.index_of(one) >= 0 ? one : many;
  const ir::Value* v = n.arg(param).value();
  return v && v->tensor() ? std::optional(v->tensor()->dtype) : std::nullopt;
}
// One parameter for each index of the dim, not one for all.
bool is_one_for_many(const ir::Node& n) {
  if (n.op().schema.index_of("axis") < 0) return false;
  const TensorType &x = *n.arg("input").value()->tensor(), &s = *n.arg("scales").value()->tensor();
  const int64_t axis = n.arg("axis").i() ? *n.arg("axis").i() : 0, rank = static_cast<int64_t>(x.rank());
  return s.rank() == 1 && s.shape[0] == Dim(1) &&
         !(x.shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)] == Dim(1));
}
// Its kernel divides by the scale in f32 and casts what comes out.
bool is_odd_scale(const ir::Node& n) {
  const auto scale = n.op().schema.index_of("scale") >= 0 ? constant_number(n, "scale") : std::nullopt;
  return scale && !std::isnormal(static_cast<float>(*scale));
}
}  // namespace

std::string stock_limit_of_quantize(const ir::Node& n) {
  const DType in = n.arg("input").value()->tensor()->dtype;
  if (in == DType::bf16) return "the stock kernel takes no bf16";
  if (is_odd_scale(n)) return "the scale is not a normal number";
  const auto scale = dtype_at(n, "scale", "scales"), zero = dtype_at(n, "zero_point", "zero_points");
  if (scale && *scale != DType::f64)
    return fmt::format("the stock kernel takes f64 scales, these are {}", name(*scale));
  if (zero && *zero != DType::i64)
    return fmt::format("the stock kernel takes i64 zero points, these are {}", name(*zero));
  if (is_one_for_many(n)) return "the stock kernel takes one scale for each index of the dim";
  return "";
}
std::string stock_limit_of_dequantize(const ir::Node& n) {
  if (n.result()->tensor()->dtype == DType::bf16) return "the stock kernel gives no bf16";
  if (is_odd_scale(n)) return "the scale is not a normal number";
  const auto lo = constant_number(n, "quant_min"), hi = constant_number(n, "quant_max");
  if (lo && hi && *lo > *hi) return "quant_min is above quant_max";
  const auto scale = dtype_at(n, "scale", "scales"), zero = dtype_at(n, "zero_point", "zero_points");
  const bool one = n.op().schema.index_of("scale") >= 0;
  if (scale && *scale != DType::f64 && (one || *scale != DType::f32))
    return fmt::format("the stock kernel takes no {} scales", name(*scale));
  if (zero && *zero != DType::i64 && (one || *zero != DType::i32))
    return fmt::format("the stock kernel takes no {} zero points", name(*zero));
  if (is_one_for_many(n)) return "the stock kernel takes one scale for each index of the dim";
  if (zero && !one && lo && hi) {
    const ir::Value* v = n.arg("zero_points").value();
    if (v->is_constant() && is_int(*zero))
      for (int64_t z : to_ints(*v->data))
        if (static_cast<double>(z) < *lo || static_cast<double>(z) > *hi)
          return fmt::format("zero point {} is outside of [{}, {}]", z, *lo, *hi);
  }
  return "";
}
std::string stock_limit_of_choosing(const ir::Node& n) {
  const DType in = n.arg("input").value()->tensor()->dtype;
  return in == DType::f32 ? "" : fmt::format("the stock kernel takes f32, this is {}", name(in));
}

// ---- constraints ----------------------------------------------------------------------------------------------------

void check_quantizable(const Call& c, std::string_view param) {
  const DType t = c.tensor(param).dtype;
  if (t != DType::f32 && t != DType::f16 && t != DType::bf16)
    c.error(fmt::format("[quantize.1] {} is {}, not f32, f16 or bf16", param, name(t)));
}
void check_quantized(const Call& c, DType t) {
  const auto range = quantized_range(t);
  if (!range) return c.error(fmt::format("[quantize.2] {} holds no quantized values here", name(t)));
  if (!c.number_kind("quant_min") || !c.number_kind("quant_max")) return;
  if (c.i("quant_min") < range->first || c.i("quant_max") > range->second)
    c.error(fmt::format("[quantize.3] quant_min {} and quant_max {} leave the range of {}", c.i("quant_min"),
                        c.i("quant_max"), name(t)));
}
void check_quantized_input(const Call& c, std::string_view param, std::string_view dtype) {
  const DType t = c.tensor(param).dtype, want = c.dtype(dtype).value_or(t);
  if (t != want) return c.error(fmt::format("[dequantize.1] {} is {}, not {}", param, name(t), name(want)));
  if (!quantized_range(t)) c.error(fmt::format("[quantize.2] {} holds no quantized values here", name(t)));
}
void check_one_element(const Call& c, std::initializer_list<std::string_view> params) {
  for (std::string_view p : params)
    for (const Dim& d : c.tensor(p).shape)
      if (differ(d, Dim(1))) c.error(fmt::format("[quantize.4] {} has more than one element", p));
}
void check_per_channel(const Call& c) {
  const TensorType& x = c.type(0);
  const int64_t axis = c.axis("axis", c.rank("input"));
  if (x.rank() == 0) return c.error("[quantize.5] input has no dims");
  const Dim n = x.shape[static_cast<size_t>(axis)];
  for (std::string_view p : {"scales", "zero_points"}) {
    if (p == "zero_points" && !c.has(p)) continue;
    const TensorType& t = c.tensor(p);
    if (t.rank() != 1 || (differ(t.shape[0], n) && differ(t.shape[0], Dim(1))) ||
        differ(t.shape[0], c.tensor("scales").shape[0]))
      c.error(fmt::format("[quantize.5] {} is {}, and dim {} of the input has {} elements", p, ir::str(Type(t)), axis,
                          n.str()));
  }
}

}  // namespace edgewright::ops
