// src/runtime/kernels/quantize.cc - floats to ints and back by scales and zero points: one for all elements, for each index of
// a dim, for each row, for each block; and how scales are chosen from what is to be quantized.
//
// Each step rounds to the dtype that PyTorch computes it in: the ops are compositions there.
#include "runtime/kernels/common.h"
#include "runtime/kernels/tables.h"

namespace edgewright::runtime {
namespace {

// A result of arithmetic in dtype t, given in double: half types are computed in f32, then rounded.
double arithmetic(DType t, double v) {
  switch (t) {
    case DType::f64: return v;
    case DType::f16: return half_to_float(double_to_half(static_cast<double>(static_cast<float>(v))));
    case DType::bf16: return bf16_to_float(double_to_bf16(static_cast<double>(static_cast<float>(v))));
    default: return static_cast<float>(v);
  }
}
double cast(DType t, double v) {
  switch (t) {
    case DType::f64: return v;
    case DType::f16: return half_to_float(double_to_half(v));
    case DType::bf16: return bf16_to_float(double_to_bf16(v));
    default: return static_cast<float>(v);
  }
}
int64_t wrap(DType t, int64_t v) {
  switch (t) {
    case DType::u8: return static_cast<uint8_t>(v);
    case DType::i8: return static_cast<int8_t>(v);
    case DType::i16: return static_cast<int16_t>(v);
    case DType::i32: return static_cast<int32_t>(v);
    default: return v;
  }
}
bool holds_quantized(DType t) {
  return t == DType::i8 || t == DType::u8 || t == DType::i16 || t == DType::u16 || t == DType::i32;
}
bool is_quantizable(DType t) { return t == DType::f32 || t == DType::f16 || t == DType::bf16; }

// A scale or zero point argument: a tensor, or a number for all.
struct Param {
  const Tensor* tensor = nullptr;  // with its number of elements above 1, or 1
  double number = 0;
  bool is_none = false;
  DType dtype() const { return tensor ? tensor->dtype : DType::f64; }
  double at(int64_t place) const { return tensor ? load_one<double>(*tensor, place) : number; }
};
Param param(Call& c, size_t i) {
  Param p;
  if (c.none(i))
    p.is_none = true;
  else if (c.is_number(i))
    p.number = c.real(i);
  else
    p.tensor = &c.in(i);
  return p;
}

// Which place in the parameters an element has: dim d in blocks of block[d], stride[d] places from one to the next.
struct Blocks {
  std::array<int64_t, kMaxRank> block{}, stride{};
  Blocks() { block.fill(1); }
};
// The tensor's dims, those in blocks split in two, as a loop over {x, parameters, out}.
struct Split {
  std::array<int64_t, kMaxRank> sizes{};
  std::array<Strides, 3> strides{};
  size_t rank = 0;
  bool fits = true;
  void add(int64_t size, int64_t x, int64_t p, int64_t out) {
    if (rank == kMaxRank) {
      fits = false;
      return;
    }
    sizes[rank] = size;
    strides[0][rank] = x;
    strides[1][rank] = p;
    strides[2][rank++] = out;
  }
  Split(const Tensor& x, const Tensor& out, const Blocks& b) {
    for (size_t d = 0; d < x.rank; ++d) {
      const int64_t n = x.sizes[d], block = b.block[d];
      if (b.stride[d] == 0 || block <= 1) {
        add(n, x.strides[d], b.stride[d], out.strides[d]);
      } else {
        add(n / block, x.strides[d] * block, b.stride[d], out.strides[d] * block);
        add(block, x.strides[d], 0, out.strides[d]);
      }
    }
  }
};
constexpr int64_t kBlock = 256;

// --- quantize ---

// Nearest, ties to even: below 2^23 the sum is rounded to a whole number, beyond it numbers are whole.
inline float round_even(float x) {
  const float a = std::fabs(x);
  return a < 0x1p23F ? std::copysign((a + 0x1p23F) - 0x1p23F, x) : x;
}

struct Quantizing {
  Param scale, zero_point;
  DType inverse = DType::f32, product = DType::f32, sum = DType::f32;
  bool adds_before_rounding = false;
  double lo = 0, hi = 0;
  double inverse_at(int64_t k) const { return arithmetic(inverse, 1.0 / scale.at(k)); }
  double zero_at(int64_t k) const { return zero_point.is_none ? 0 : cast(sum, zero_point.at(k)); }
  bool in_f32() const {
    return product == DType::f32 && sum == DType::f32 && inverse != DType::f64 && !adds_before_rounding;
  }
};
template <class T>
void store_ints(Tensor& out, int64_t at, int64_t step, const int32_t* v, int64_t n) {
  T* to = out.as<T>() + at;
  if (step == 1)
    for (int64_t j = 0; j < n; ++j) to[j] = static_cast<T>(v[j]);
  else
    for (int64_t j = 0; j < n; ++j) to[j * step] = static_cast<T>(v[j]);
}
void store_ints(Tensor& out, int64_t at, int64_t step, const int32_t* v, int64_t n) {
  switch (size_of(out.dtype)) {
    case 1: return store_ints<uint8_t>(out, at, step, v, n);
    case 2: return store_ints<uint16_t>(out, at, step, v, n);
    default: return store_ints<uint32_t>(out, at, step, v, n);
  }
}

// clamp(round(x * (1 / scale)) + zero_point, lo, hi); NaN passes the clamp and becomes what to_int makes of it.
Result<void> quantize(Call& c, const Tensor& x, Tensor& out, const Quantizing& q, const Blocks& blocks) {
  if (!is_quantizable(x.dtype)) return c.unsupported(x.dtype);
  if (!holds_quantized(out.dtype)) return c.unsupported(out.dtype);
  EW_TRY(c.resize(out, x.shape()));
  if (out.numel() == 0) return {};
  const Split split(x, out, blocks);
  if (!split.fits) return c.fail(Code::kUnsupported, "too many dims");
  const Nest<3> nest({split.sizes.data(), split.rank}, split.strides);
  const auto step = nest.strides[nest.rank - 1];
  const int64_t width = static_cast<int64_t>(size_of(x.dtype));
  const bool in_f32 = q.in_f32();
  const float lo = static_cast<float>(q.lo), hi = static_cast<float>(q.hi);
  parallel_for(c.pool(), nest.total, 32768, [&](int64_t begin, int64_t end) {
    float from[kBlock], inverse[kBlock], zero[kBlock];
    double wide[kBlock];
    int32_t to[kBlock];
    nest.run(begin, end, [&](const std::array<int64_t, 3>& at, int64_t count) {
      const float inverse_one = static_cast<float>(q.inverse_at(at[1])),
                  zero_one = static_cast<float>(q.zero_at(at[1]));
      for (int64_t done = 0; done < count; done += kBlock) {
        const int64_t n = std::min(kBlock, count - done);
        const std::byte* p = x.data + (at[0] + done * step[0]) * width;
        if (in_f32) {
          const float* f = from;
          if (x.dtype == DType::f32 && step[0] == 1)
            f = reinterpret_cast<const float*>(p);
          else
            load_block<float>(x.dtype, p, step[0], static_cast<size_t>(n), from);
          if (step[1] != 0)
            for (int64_t j = 0; j < n; ++j) {
              inverse[j] = static_cast<float>(q.inverse_at(at[1] + (done + j) * step[1]));
              zero[j] = static_cast<float>(q.zero_at(at[1] + (done + j) * step[1]));
            }
          const auto each = [&](auto inv, auto zp) {
            for (int64_t j = 0; j < n; ++j) {
              float v = round_even(f[j] * inv(j)) + zp(j);
              v = v < lo ? lo : v;
              v = v > hi ? hi : v;
              to[j] = to_int<int32_t>(v);
            }
          };
          if (step[1] == 0)
            each([&](int64_t) { return inverse_one; }, [&](int64_t) { return zero_one; });
          else
            each([&](int64_t j) { return inverse[j]; }, [&](int64_t j) { return zero[j]; });
        } else {
          load_block<double>(x.dtype, p, step[0], static_cast<size_t>(n), wide);
          for (int64_t j = 0; j < n; ++j) {
            const int64_t k = at[1] + (done + j) * step[1];
            const double product = arithmetic(q.product, wide[j] * q.inverse_at(k)), z = q.zero_at(k);
            double v = q.adds_before_rounding ? std::nearbyint(arithmetic(q.sum, product + z))
                                              : arithmetic(q.sum, std::nearbyint(product) + z);
            if (v == v) v = std::min(std::max(v, cast(q.sum, q.lo)), cast(q.sum, q.hi));
            to[j] = to_int<int32_t>(v);
          }
        }
        store_ints(out, at[2] + done * step[2], step[2], to, n);
      }
    });
  });
  return {};
}

// --- dequantize ---

struct Dequantizing {
  Param scale, zero_point;
  DType difference = DType::f32, product = DType::f32;
  DType scalar = DType::f64;  // a scale that stands for all is rounded to it
  double scale_at(int64_t k) const { return scalar == DType::f64 ? scale.at(k) : cast(scalar, scale.at(k)); }
  double zero_at(int64_t k) const {
    if (zero_point.is_none) return 0;
    return scalar == DType::f64 ? zero_point.at(k) : cast(scalar, zero_point.at(k));
  }
  double operator()(DType out, int64_t x, double s, double z) const {
    double d;
    if (is_float(difference)) {
      d = cast(difference, static_cast<double>(x));
      if (!zero_point.is_none) d = arithmetic(difference, d - cast(difference, z));
    } else {
      d = static_cast<double>(zero_point.is_none ? x : wrap(difference, x - static_cast<int64_t>(z)));
    }
    return cast(out, arithmetic(product, cast(product, d) * s));
  }
};
template <class T>
void dequantize_run(const T* x, int64_t x_step, float* y, int64_t y_step, int32_t zero, float scale, int64_t n) {
  if (x_step == 1 && y_step == 1)
    for (int64_t j = 0; j < n; ++j) y[j] = static_cast<float>(static_cast<int32_t>(x[j]) - zero) * scale;
  else
    for (int64_t j = 0; j < n; ++j)
      y[j * y_step] = static_cast<float>(static_cast<int32_t>(x[j * x_step]) - zero) * scale;
}

// (x - zero_point) * scale
Result<void> dequantize(Call& c, const Tensor& x, Tensor& out, const Dequantizing& q, const Blocks& blocks) {
  if (!holds_quantized(x.dtype)) return c.unsupported(x.dtype);
  if (!is_float(out.dtype) || !is_float(q.product)) return c.unsupported(out.dtype);
  EW_TRY(c.resize(out, x.shape()));
  if (out.numel() == 0) return {};
  const Split split(x, out, blocks);
  if (!split.fits) return c.fail(Code::kUnsupported, "too many dims");
  const Nest<3> nest({split.sizes.data(), split.rank}, split.strides);
  const auto step = nest.strides[nest.rank - 1];
  const int64_t width = static_cast<int64_t>(size_of(x.dtype));
  // Narrow ints, whose difference is exact: only the product rounds.
  const bool narrow = q.product == DType::f32 && out.dtype == DType::f32 && size_of(x.dtype) <= 2 &&
                      (q.difference == DType::f32 || q.difference == DType::i32 || q.difference == DType::i64);
  parallel_for(c.pool(), nest.total, 32768, [&](int64_t begin, int64_t end) {
    int64_t from[kBlock];
    double to[kBlock];
    nest.run(begin, end, [&](const std::array<int64_t, 3>& at, int64_t count) {
      if (narrow && step[1] == 0) {
        const double z = q.zero_at(at[1]);
        if (std::fabs(z) < 0x1p22 && z == std::trunc(z)) {
          const float s = static_cast<float>(q.scale_at(at[1]));
          visit_storage(x.dtype, [&]<class T>(T) {
            if constexpr (std::is_integral_v<T>)
              dequantize_run(x.as<const T>() + at[0], step[0], out.as<float>() + at[2], step[2],
                             static_cast<int32_t>(z), s, count);
          });
          return;
        }
      }
      for (int64_t done = 0; done < count; done += kBlock) {
        const int64_t n = std::min(kBlock, count - done);
        load_block<int64_t>(x.dtype, x.data + (at[0] + done * step[0]) * width, step[0], static_cast<size_t>(n), from);
        for (int64_t j = 0; j < n; ++j) {
          const int64_t k = at[1] + (done + j) * step[1];
          to[j] = q(out.dtype, from[j], q.scale_at(k), q.zero_at(k));
        }
        std::byte* y = out.data + (at[2] + done * step[2]) * static_cast<int64_t>(size_of(out.dtype));
        store_block<double>(out.dtype, y, step[2], static_cast<size_t>(n), to);
      }
    });
  });
  return {};
}

// --- which parameter belongs to which element ---

bool is_one(const Param& p) { return !p.tensor || p.tensor->numel() == 1; }
// One for all. kUsage where a tensor has more elements.
Result<void> check_one(Call& c, const Param& scale, const Param& zero_point) {
  if (!is_one(scale) || !is_one(zero_point)) return c.fail(Code::kUsage, "more than one scale or zero point");
  return {};
}
// One for each index of a dim.
Result<Blocks> along(Call& c, size_t axis_at, const Tensor& x, const Param& scale, const Param& zero_point) {
  Blocks b;
  const size_t axis = c.axis(axis_at, x.rank);
  EW_TRY(c.ok());
  const int64_t count = scale.tensor ? scale.tensor->numel() : 0;
  if (x.rank == 0 || count < 1 || (count != x.sizes[axis] && count != 1) ||
      (zero_point.tensor && zero_point.tensor->numel() != count))
    return c.fail(Code::kUsage, "{} scales for a dim of {}", count, x.rank ? x.sizes[axis] : 0);
  if (count > 1) b.stride[axis] = 1;
  return b;
}
// Parameters that broadcast against the tensor.
Result<Blocks> broadcasting(Call& c, const Tensor& x, const Param& scale, const Param& zero_point) {
  Blocks b;
  const Tensor* s = scale.tensor;
  if (!s || s->rank > x.rank || !s->contiguous() ||
      (zero_point.tensor && !std::ranges::equal(zero_point.tensor->shape(), s->shape())))
    return c.fail(Code::kUsage, "scales do not fit the tensor");
  int64_t step = 1;
  for (size_t d = s->rank, to = x.rank; d-- > 0; step *= s->sizes[d]) {
    --to;
    if (s->sizes[d] == 1) continue;
    if (s->sizes[d] != x.sizes[to]) return c.fail(Code::kUsage, "scales do not fit the tensor");
    b.stride[to] = step;
  }
  return b;
}
// One for each block of the given sizes; they must divide the dims.
Result<Blocks> in_blocks(Call& c, const Tensor& x, std::span<const int64_t> block, int64_t* count) {
  Blocks b;
  if (block.size() != x.rank) return c.fail(Code::kUsage, "{} block sizes for {} dims", block.size(), x.rank);
  int64_t places = 1;
  for (size_t d = x.rank; d-- > 0;) {
    const int64_t n = x.sizes[d], size = std::max<int64_t>(block[d], 1);
    if (size != n && (size > n || n % size != 0)) return c.fail(Code::kUsage, "blocks of {} in a dim of {}", size, n);
    b.block[d] = size;
    if (n / size > 1) b.stride[d] = places;
    places *= std::max<int64_t>(n / size, 1);
  }
  *count = places;
  return b;
}
Result<void> check_count(Call& c, int64_t count, const Param& scale, const Param& zero_point) {
  const auto fits = [&](const Tensor* t) { return t->numel() == count && t->contiguous(); };
  if (!scale.tensor || !fits(scale.tensor) || (zero_point.tensor && !fits(zero_point.tensor)))
    return c.fail(Code::kUsage, "there are {} blocks, and not as many scales and zero points in C order", count);
  return {};
}

// --- quantized_decomposed ---

Quantizing quantizing(Call& c, size_t bounds) {
  return {.scale = param(c, 1), .zero_point = param(c, 2), .lo = c.real(bounds), .hi = c.real(bounds + 1)};
}
void promote_steps(Quantizing& q, DType input) {
  q.inverse = q.scale.tensor->dtype;
  q.product = promote(input, q.inverse);
  q.sum = q.zero_point.tensor ? promote(q.product, q.zero_point.tensor->dtype) : q.product;
}
void promote_steps(Dequantizing& q, DType input) {
  q.difference = q.zero_point.tensor ? promote(input, q.zero_point.tensor->dtype) : input;
  q.product = promote(q.difference, q.scale.tensor->dtype);
}
DType compute_dtype(DType out) { return out == DType::f64 ? DType::f64 : DType::f32; }

// quantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype); also with tensors of one element
Result<void> quantize_per_tensor(Call& c) {
  const Tensor& x = c.in(0);
  const Quantizing q = quantizing(c, 3);
  Tensor& out = c.out(6);
  EW_TRY(c.ok());
  EW_TRY(check_one(c, q.scale, q.zero_point));
  return quantize(c, x, out, q, Blocks());
}
// dequantize_per_tensor(input, scale, zero_point, quant_min, quant_max, dtype, *, out_dtype)
Result<void> dequantize_per_tensor(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(7);
  EW_TRY(c.ok());
  const Dequantizing q{.scale = param(c, 1),
                       .zero_point = param(c, 2),
                       .difference = out.dtype,
                       .product = out.dtype,
                       .scalar = compute_dtype(out.dtype)};
  EW_TRY(c.ok());
  EW_TRY(check_one(c, q.scale, q.zero_point));
  return dequantize(c, x, out, q, Blocks());
}
// quantize_per_channel(input, scales, zero_points, axis, quant_min, quant_max, dtype)
Result<void> quantize_per_channel(Call& c) {
  const Tensor& x = c.in(0);
  Quantizing q = quantizing(c, 4);
  Tensor& out = c.out(7);
  EW_TRY(c.ok());
  EW_ASSIGN(const Blocks blocks, along(c, 3, x, q.scale, q.zero_point));
  promote_steps(q, DType::f32);
  return quantize(c, x, out, q, blocks);
}
// dequantize_per_channel(input, scales, zero_points, axis, quant_min, quant_max, dtype, *, out_dtype)
Result<void> dequantize_per_channel(Call& c) {
  const Tensor& x = c.in(0);
  Dequantizing q{.scale = param(c, 1), .zero_point = param(c, 2)};
  Tensor& out = c.out(8);
  EW_TRY(c.ok());
  EW_ASSIGN(const Blocks blocks, along(c, 3, x, q.scale, q.zero_point));
  promote_steps(q, x.dtype);
  return dequantize(c, x, out, q, blocks);
}
// quantize_per_token(input, scales, zero_points, quant_min, quant_max, dtype): adds the zero point before it rounds
Result<void> quantize_per_token(Call& c) {
  const Tensor& x = c.in(0);
  Quantizing q = quantizing(c, 3);
  Tensor& out = c.out(6);
  EW_TRY(c.ok());
  EW_ASSIGN(const Blocks blocks, broadcasting(c, x, q.scale, q.zero_point));
  promote_steps(q, x.dtype);
  q.adds_before_rounding = true;
  return quantize(c, x, out, q, blocks);
}
// dequantize_per_token(input, scales, zero_points, quant_min, quant_max, dtype, output_dtype)
Result<void> dequantize_per_token(Call& c) {
  const Tensor& x = c.in(0);
  Dequantizing q{.scale = param(c, 1), .zero_point = param(c, 2)};
  Tensor& out = c.out(7);
  EW_TRY(c.ok());
  EW_ASSIGN(const Blocks blocks, broadcasting(c, x, q.scale, q.zero_point));
  promote_steps(q, x.dtype);
  return dequantize(c, x, out, q, blocks);
}
// Groups of the last dim of a matrix; one wider than the row is the row.
Result<Blocks> in_groups(Call& c, size_t group_at, const Tensor& x, const Param& scale, const Param& zero_point) {
  int64_t group = c.integer(group_at), count = 0;
  EW_TRY(c.ok());
  if (x.rank != 2 || !scale.tensor || scale.tensor->rank == 0) return c.fail(Code::kUsage, "no matrix with scales");
  if (group > x.sizes[1] && scale.tensor->sizes[scale.tensor->rank - 1u] == 1) group = x.sizes[1];
  const std::array<int64_t, 2> block{1, group};
  EW_ASSIGN(const Blocks blocks, in_blocks(c, x, block, &count));
  EW_TRY(check_count(c, count, scale, zero_point));
  return blocks;
}
// quantize_per_channel_group(input, scales, zero_points, quant_min, quant_max, dtype, group_size)
Result<void> quantize_per_channel_group(Call& c) {
  const Tensor& x = c.in(0);
  Quantizing q = quantizing(c, 3);
  Tensor& out = c.out(7);
  EW_TRY(c.ok());
  EW_ASSIGN(const Blocks blocks, in_groups(c, 6, x, q.scale, q.zero_point));
  promote_steps(q, x.dtype);
  q.adds_before_rounding = true;
  return quantize(c, x, out, q, blocks);
}
// dequantize_per_channel_group(input, scales, zero_points, quant_min, quant_max, dtype, group_size, output_dtype)
Result<void> dequantize_per_channel_group(Call& c) {
  const Tensor& x = c.in(0);
  Dequantizing q{.scale = param(c, 1), .zero_point = param(c, 2)};
  Tensor& out = c.out(8);
  EW_TRY(c.ok());
  EW_ASSIGN(const Blocks blocks, in_groups(c, 6, x, q.scale, q.zero_point));
  promote_steps(q, x.dtype);
  return dequantize(c, x, out, q, blocks);
}

// --- torchao ---

Result<Blocks> affine_blocks(Call& c, const Tensor& x, const Param& scale, const Param& zero_point) {
  const Call::Ints block = c.ints(1);
  EW_TRY(c.ok());
  int64_t count = 0;
  EW_ASSIGN(const Blocks blocks, in_blocks(c, x, block.span(), &count));
  EW_TRY(check_count(c, count, scale, zero_point));
  return blocks;
}
// The range of a dtype that holds quantized values, where the bounds are None.
double lowest(DType t) {
  return t == DType::i8 ? -128 : t == DType::i16 ? -32768 : t == DType::i32 ? -2147483648.0 : 0;
}
double highest(DType t) {
  return t == DType::i8 ? 127 : t == DType::u8 ? 255 : t == DType::i16 ? 32767 : t == DType::u16 ? 65535 : 2147483647;
}
// quantize_affine(input, block_size, scale, zero_point, output_dtype, quant_min, quant_max)
Result<void> quantize_affine(Call& c) {
  const Tensor& x = c.in(0);
  Quantizing q{.scale = param(c, 2), .zero_point = param(c, 3)};
  Tensor& out = c.out(7);
  EW_TRY(c.ok());
  q.lo = c.real_or(5, lowest(out.dtype));
  q.hi = c.real_or(6, highest(out.dtype));
  EW_ASSIGN(const Blocks blocks, affine_blocks(c, x, q.scale, q.zero_point));
  promote_steps(q, x.dtype);
  return quantize(c, x, out, q, blocks);
}
// dequantize_affine(input, block_size, scale, zero_point, input_dtype, quant_min, quant_max, output_dtype)
Result<void> dequantize_affine(Call& c) {
  const Tensor& x = c.in(0);
  Dequantizing q{.scale = param(c, 2), .zero_point = param(c, 3)};
  Tensor& out = c.out(8);
  EW_TRY(c.ok());
  EW_ASSIGN(const Blocks blocks, affine_blocks(c, x, q.scale, q.zero_point));
  q.difference = out.dtype;
  q.product = promote(out.dtype, q.scale.tensor->dtype);
  return dequantize(c, x, out, q, blocks);
}

// --- choosing ---

// min and max as PyTorch has them: NaN if either is.
double least(double a, double b) { return a != a ? a : b != b ? b : std::min(a, b); }
double most(double a, double b) { return a != a ? a : b != b ? b : std::max(a, b); }
struct Chosen {
  double scale, zero_point;
};

// Calls choose(lo, hi) with the extremes of each block and stores what it gives at the block's place.
template <class F>
Result<void> choose_by_block(Call& c, const Tensor& x, Tensor& scale, Tensor& zero_point,
                             std::span<const int64_t> block, F choose) {
  if (!is_quantizable(x.dtype)) return c.unsupported(x.dtype);
  if (!is_float(scale.dtype)) return c.unsupported(scale.dtype);
  if (!has_compute(zero_point.dtype)) return c.unsupported(zero_point.dtype);
  int64_t count = 0;
  EW_TRY(in_blocks(c, x, block, &count));
  if (scale.numel() != count || zero_point.numel() != count || !scale.contiguous() || !zero_point.contiguous())
    return c.fail(Code::kUsage, "{} blocks, {} scales", count, scale.numel());
  const size_t rank = x.rank;
  std::array<int64_t, kMaxRank> sizes{};
  for (size_t d = 0; d < rank; ++d) sizes[d] = std::max<int64_t>(block[d], 1);
  const Nest<1> nest({sizes.data(), rank}, {x.strides});
  const int64_t step = nest.strides[nest.rank - 1][0], width = static_cast<int64_t>(size_of(x.dtype));
  if (x.numel() == 0) return c.fail(Code::kUsage, "no elements to choose from");
  parallel_for(c.pool(), count, std::max<int64_t>(1, 32768 / std::max<int64_t>(nest.total, 1)),
               [&](int64_t begin, int64_t end) {
                 float buffer[kBlock];
                 for (int64_t place = begin; place < end; ++place) {
                   int64_t first = 0, rest = place;
                   for (size_t d = rank; d-- > 0;) {
                     const int64_t n = std::max<int64_t>(x.sizes[d] / sizes[d], 1);
                     first += rest % n * sizes[d] * x.strides[d];
                     rest /= n;
                   }
                   float lo = std::numeric_limits<float>::infinity(), hi = -lo;
                   int nans = 0;
                   nest.run(0, nest.total, [&](const std::array<int64_t, 1>& at, int64_t run) {
                     for (int64_t done = 0; done < run; done += kBlock) {
                       const int64_t n = std::min(kBlock, run - done);
                       const std::byte* p = x.data + (first + at[0] + done * step) * width;
                       const float* f = buffer;
                       if (x.dtype == DType::f32 && step == 1)
                         f = reinterpret_cast<const float*>(p);
                       else
                         load_block<float>(x.dtype, p, step, static_cast<size_t>(n), buffer);
                       for (int64_t j = 0; j < n; ++j) {
                         lo = f[j] < lo ? f[j] : lo;
                         hi = f[j] > hi ? f[j] : hi;
                         nans |= f[j] != f[j];
                       }
                     }
                   });
                   if (nans) lo = hi = std::numeric_limits<float>::quiet_NaN();
                   const Chosen chosen = choose(static_cast<double>(lo), static_cast<double>(hi));
                   store_one(scale, place, chosen.scale);
                   if (is_float(zero_point.dtype))
                     store_one(zero_point, place, chosen.zero_point);
                   else
                     store_one(zero_point, place, static_cast<int64_t>(chosen.zero_point));
                 }
               });
  return {};
}

// Rows as blocks; sizes the results for one scale and zero point each.
Result<std::array<int64_t, kMaxRank>> row_block(Call& c, const Tensor& x, Tensor& scale, Tensor& zero_point) {
  if (x.rank == 0) return c.fail(Code::kUsage, "no rows");
  Shape one = shape_of(x);
  one[one.rank - 1] = 1;
  EW_TRY(c.resize(scale, one.span()));
  EW_TRY(c.resize(zero_point, one.span()));
  std::array<int64_t, kMaxRank> block;
  block.fill(1);
  block[x.rank - 1u] = x.sizes[x.rank - 1u];
  return block;
}
// choose_qparams.tensor(input, quant_min, quant_max, eps, dtype) -> (scale, zero_point)
Result<void> choose_qparams(Call& c) {
  const Tensor& x = c.in(0);
  const double qmin = c.real(1), qmax = c.real(2), eps = static_cast<float>(c.real(3));
  Tensor &scale = c.out(5), &zero_point = c.out(6);
  EW_TRY(c.ok());
  if (!(qmin < qmax && qmin >= -2147483648.0 && qmax <= 2147483647)) return c.fail(Code::kUsage, "no range of ints");
  const DType t = x.dtype;
  return choose_by_block(c, x, scale, zero_point, x.shape(), [=](double lo, double hi) -> Chosen {
    lo = least(lo, 0);
    const double range = arithmetic(t, most(hi, 0) - lo);
    const double s = most(arithmetic(t, range / static_cast<double>(static_cast<float>(qmax - qmin))), eps);
    const int64_t shift = to_int<int32_t>(std::nearbyint(arithmetic(DType::f32, lo / s)));
    const auto z = static_cast<double>(wrap(DType::i32, static_cast<int64_t>(qmin) - shift));
    return {s, std::min(std::max(z, qmin), qmax)};
  });
}
// choose_qparams_symmetric.tensor(input, quant_min, quant_max, eps, dtype) -> (scale, zero_point)
Result<void> choose_qparams_symmetric(Call& c) {
  const Tensor& x = c.in(0);
  const double qmin = c.real(1), qmax = c.real(2), eps = static_cast<float>(c.real(3));
  const double zero = static_cast<DType>(c.integer(4)) == DType::u8 ? 128 : 0;
  Tensor &scale = c.out(5), &zero_point = c.out(6);
  EW_TRY(c.ok());
  if (!(qmin < qmax)) return c.fail(Code::kUsage, "no range of ints");
  const DType t = x.dtype;
  return choose_by_block(c, x, scale, zero_point, x.shape(), [=](double lo, double hi) -> Chosen {
    const double greatest = most(-least(lo, 0), most(hi, 0));
    return {most(arithmetic(t, greatest / static_cast<double>(static_cast<float>((qmax - qmin) / 2))), eps), zero};
  });
}
// choose_qparams_per_token(input, dtype) -> (scale, zero_point): by rows, symmetric
Result<void> choose_qparams_per_token_symmetric(Call& c) {
  const Tensor& x = c.in(0);
  Tensor &scale = c.out(2), &zero_point = c.out(3);
  EW_TRY(c.ok());
  EW_ASSIGN(const auto block, row_block(c, x, scale, zero_point));
  const DType t = x.dtype == DType::f16 ? DType::f32 : x.dtype;
  return choose_by_block(c, x, scale, zero_point, {block.data(), x.rank}, [t](double lo, double hi) -> Chosen {
    return {arithmetic(t, most(most(std::fabs(lo), std::fabs(hi)), cast(t, 1e-5)) / 127), 0};
  });
}
// choose_qparams_per_token_asymmetric(input, dtype) -> (scale, zero_point): by rows, into [-128, 127]; of the two ends of the
// range the one whose image lies nearer to an end of the ints fixes the zero point
Result<void> choose_qparams_per_token(Call& c) {
  const Tensor& x = c.in(0);
  Tensor &scale = c.out(2), &zero_point = c.out(3);
  EW_TRY(c.ok());
  EW_ASSIGN(const auto block, row_block(c, x, scale, zero_point));
  const DType t = x.dtype;
  return choose_by_block(c, x, scale, zero_point, {block.data(), x.rank}, [t](double lo, double hi) -> Chosen {
    constexpr double qmin = -128, qmax = 127;
    lo = least(lo, 0);
    hi = most(hi, 0);
    const double s = most(arithmetic(t, arithmetic(t, hi - lo) / (qmax - qmin)), cast(t, 0x1p-23));
    const double low = arithmetic(t, lo / s), high = arithmetic(t, hi / s);
    const double sum = arithmetic(t, arithmetic(t, qmin + low) + arithmetic(t, qmax + high));
    const double z = sum > 0 ? arithmetic(t, qmin - low) : arithmetic(t, qmax - high);
    if (z != z) return {s, static_cast<double>(INT64_MIN)};
    return {s, std::nearbyint(std::min(std::max(z, qmin), qmax))};
  });
}
// choose_qparams_affine(input, mapping_type, block_size, target_dtype, quant_min, quant_max, eps, scale_dtype,
// zero_point_dtype, keepdim) -> (scale, zero_point)
Result<void> choose_qparams_affine(Call& c) {
  const Tensor& x = c.in(0);
  const std::string_view mapping = c.text(1);
  Call::Ints block = c.ints(2);
  const auto target = static_cast<DType>(c.integer(3));
  const double qmin = c.real_or(4, lowest(target)), qmax = c.real_or(5, highest(target));
  const DType t = x.dtype;
  const double eps = cast(t, c.real_or(6, t == DType::f16 ? 0x1p-14 : 0x1p-126));
  Tensor &scale = c.out(10), &zero_point = c.out(11);
  EW_TRY(c.ok());
  const bool asymmetric = mapping == "ASYMMETRIC", no_clipping = mapping == "SYMMETRIC_NO_CLIPPING_ERR";
  const DType zero_dtype = zero_point.dtype;
  // Where blocks reduce nothing, PyTorch's reductions take everything.
  if (block.size() == x.rank && std::ranges::all_of(block.span(), [](int64_t b) { return b == 1; }))
    std::copy_n(x.sizes.begin(), x.rank, block.v.begin());
  return choose_by_block(c, x, scale, zero_point, block.span(), [=](double lo, double hi) -> Chosen {
    lo = least(lo, 0);
    hi = most(hi, 0);
    double s, z;
    if (asymmetric) {
      s = arithmetic(t, arithmetic(t, hi - lo) / static_cast<double>(static_cast<float>(qmax - qmin)));
    } else if (no_clipping) {
      const double low = arithmetic(t, lo / static_cast<double>(static_cast<float>(qmin)));
      const double high = arithmetic(t, hi / static_cast<double>(static_cast<float>(qmax)));
      s = low > high ? low : high;
    } else {
      s = arithmetic(t, most(-lo, hi) / static_cast<double>(static_cast<float>((qmax - qmin) / 2)));
    }
    s = most(s, eps);
    if (asymmetric) {
      z = arithmetic(t, qmin - std::nearbyint(arithmetic(t, lo / s)));
      if (z == z) z = std::min(std::max(z, cast(t, qmin)), cast(t, qmax));
    } else {
      z = cast(t, std::trunc((qmax + qmin + 1) / 2));
    }
    if (!is_float(zero_dtype))
      z = size_of(zero_dtype) > 4 ? static_cast<double>(to_int<int64_t>(z)) : static_cast<double>(to_int<int32_t>(z));
    return {s, z};
  });
}

// --- embeddings ---

// embedding_byte(weight, weight_scales, weight_zero_points, weight_quant_min, weight_quant_max, indices[, dtype]), and with two
// or four elements to a byte: 4 bits with the first element in the high half and 8 added; 2 bits with the first element in the
// low bits and 2 added. Each row has groups of equal size with a scale of its own.
template <int kBits, size_t kOut>
Result<void> embedding(Call& c) {
  const Tensor &w = c.in(0), &indices = c.in(5);
  Dequantizing q{.scale = param(c, 1), .zero_point = param(c, 2)};
  Tensor& out = c.out(kOut);
  EW_TRY(c.ok());
  if (w.dtype != DType::i8 && w.dtype != DType::u8) return c.unsupported(w.dtype);
  if (indices.dtype != DType::i64 && indices.dtype != DType::i32) return c.unsupported(indices.dtype);
  if (!is_float(out.dtype)) return c.unsupported(out.dtype);
  const Tensor* s = q.scale.tensor;
  if (w.rank != 2 || !w.contiguous() || !s || s->rank == 0 || s->rank > 2 || !s->contiguous() ||
      s->sizes[0] != w.sizes[0] || indices.rank + 1 > static_cast<int>(kMaxRank))
    return c.fail(Code::kUsage, "no table of rows with scales");
  constexpr int64_t kPerByte = 8 / kBits;
  const int64_t width = w.sizes[1] * kPerByte, groups = s->rank == 2 ? s->sizes[1] : 1;
  if (groups < 1 || width % groups != 0) return c.fail(Code::kUsage, "{} groups in a row of {}", groups, width);
  const Tensor* zeros = q.zero_point.tensor;
  if (zeros && (zeros->numel() != s->numel() || !zeros->contiguous()))
    return c.fail(Code::kUsage, "{} zero points, {} scales", zeros->numel(), s->numel());
  Shape shape = shape_of(indices);
  shape[shape.rank++] = width;
  EW_TRY(c.resize(out, shape.span()));
  if (!out.contiguous() || !indices.contiguous()) return c.fail(Code::kUnsupported, "a tensor that is not in C order");
  promote_steps(q, kBits == 8 ? w.dtype : DType::i8);
  if (!is_float(q.product)) return c.unsupported(s->dtype);
  const int64_t group = width / groups;
  double row[kBlock];
  for (int64_t i = 0, n = indices.numel(); i < n; ++i) {
    const int64_t at = load_one<int64_t>(indices, i);
    if (at < 0 || at >= w.sizes[0]) return c.fail(Code::kUsage, "index {} of {} rows", at, w.sizes[0]);
    const auto* from = w.as<const uint8_t>() + at * w.sizes[1];
    for (int64_t done = 0, m = 0; done < width; done += m) {
      const int64_t place = at * groups + done / group;
      m = std::min(kBlock, (done / group + 1) * group - done);  // within one group
      const double scale = q.scale_at(place), zero = q.zero_at(place);
      for (int64_t j = 0; j < m; ++j) {
        const int64_t k = done + j;
        const int byte = from[k / kPerByte];
        int64_t x = byte;
        if constexpr (kBits == 4)
          x = (k % 2 == 0 ? byte >> 4 : byte & 15) - 8;
        else if constexpr (kBits == 2)
          x = (byte >> (2 * (k % 4)) & 3) - 2;
        else if (w.dtype == DType::i8)
          x = static_cast<int8_t>(byte);
        row[j] = q(out.dtype, x, scale, zero);
      }
      std::byte* to = out.data + (i * width + done) * static_cast<int64_t>(size_of(out.dtype));
      store_block<double>(out.dtype, to, 1, static_cast<size_t>(m), row);
    }
  }
  return {};
}

constexpr Kernel kTable[] = {
    {"quantized_decomposed::choose_qparams.Tensor_out", choose_qparams},
    {"quantized_decomposed::choose_qparams_per_token.out", choose_qparams_per_token_symmetric},
    {"quantized_decomposed::choose_qparams_per_token_asymmetric.out", choose_qparams_per_token},
    {"quantized_decomposed::choose_qparams_symmetric.Tensor_out", choose_qparams_symmetric},
    {"quantized_decomposed::dequantize_per_channel.out", dequantize_per_channel},
    {"quantized_decomposed::dequantize_per_channel_group.out", dequantize_per_channel_group},
    {"quantized_decomposed::dequantize_per_tensor.Tensor_out", dequantize_per_tensor},
    {"quantized_decomposed::dequantize_per_tensor.out", dequantize_per_tensor},
    {"quantized_decomposed::dequantize_per_token.out", dequantize_per_token},
    {"quantized_decomposed::embedding_2bit.dtype_out", embedding<2, 7>},
    {"quantized_decomposed::embedding_2bit.out", embedding<2, 6>},
    {"quantized_decomposed::embedding_4bit.dtype_out", embedding<4, 7>},
    {"quantized_decomposed::embedding_4bit.out", embedding<4, 6>},
    {"quantized_decomposed::embedding_byte.dtype_out", embedding<8, 7>},
    {"quantized_decomposed::embedding_byte.out", embedding<8, 6>},
    {"quantized_decomposed::quantize_per_channel.out", quantize_per_channel},
    {"quantized_decomposed::quantize_per_channel_group.out", quantize_per_channel_group},
    {"quantized_decomposed::quantize_per_tensor.Tensor_out", quantize_per_tensor},
    {"quantized_decomposed::quantize_per_tensor.out", quantize_per_tensor},
    {"quantized_decomposed::quantize_per_token.out", quantize_per_token},
    {"torchao::choose_qparams_affine.out", choose_qparams_affine},
    {"torchao::dequantize_affine.out", dequantize_affine},
    {"torchao::quantize_affine.out", quantize_affine},
};
static_assert(sorted_by_name(kTable));

}  // namespace
const std::span<const Kernel> kQuantizeKernels = kTable;
}  // namespace edgewright::runtime
