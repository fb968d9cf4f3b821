// src/runtime/kernels/conv.cc - convolutions of one to three spatial dims, plain and transposed, that stay outside of delegates.
#include "runtime/kernels/linear.h"
#include "runtime/kernels/tables.h"

namespace edgewright::runtime {
namespace {

struct Conv {
  size_t dims = 0;  // spatial
  bool transposed = false;
  int64_t groups = 1, batch = 0, in_channels = 0, out_channels = 0;
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{}, dilation{1, 1, 1};
  int64_t in_pixels = 1, out_pixels = 1, taps = 1;
};

// Arguments: input, weight, bias?, stride, padding, dilation, transposed, output_padding, groups.
Result<Conv> conv_of(Call& c, const Tensor& x, const Tensor& w) {
  const auto stride = c.ints(3), padding = c.ints(4), dilation = c.ints(5), extra = c.ints(7);
  Conv v;
  v.transposed = c.boolean(6);
  v.groups = c.integer(8);
  EW_TRY(c.ok());
  if (x.rank < 3 || x.rank > 5 || w.rank != x.rank)
    return c.fail(Code::kUsage, "input of {} dimensions, weight of {}", x.rank, w.rank);
  v.dims = x.rank - size_t{2};
  v.batch = x.sizes[0];
  v.in_channels = x.sizes[1];
  if (v.groups <= 0 || v.in_channels % v.groups != 0 || w.sizes[0] % v.groups != 0)
    return c.fail(Code::kUsage, "{} groups", v.groups);
  v.out_channels = v.transposed ? w.sizes[1] * v.groups : w.sizes[0];
  if ((v.transposed ? w.sizes[0] : w.sizes[1] * v.groups) != v.in_channels)
    return c.fail(Code::kUsage, "weight [{}] for {} channels", fmt::join(w.shape(), ", "), v.in_channels);
  constexpr int64_t kMost = int64_t{1} << 30;
  for (size_t d = 0; d < v.dims; ++d) {
    // One number may stand for all dims.
    const auto pick = [&](const Call::Ints& l, int64_t otherwise) {
      return l.empty() ? otherwise : l.size() == 1 ? l[0] : d < l.size() ? l[d] : -1;
    };
    const size_t at = 3 - v.dims + d;
    v.in[at] = x.sizes[2 + d];
    v.kernel[at] = w.sizes[2 + d];
    v.stride[at] = pick(stride, 1);
    v.padding[at] = pick(padding, 0);
    v.dilation[at] = pick(dilation, 1);
    const int64_t more = v.transposed ? pick(extra, 0) : 0;
    for (int64_t p : {v.in[at], v.kernel[at], v.stride[at], v.padding[at], v.dilation[at], more})
      if (p < 0 || p > kMost) return c.fail(Code::kUsage, "a parameter is out of range: {}", p);
    if (v.stride[at] == 0 || v.dilation[at] == 0 || v.kernel[at] == 0)
      return c.fail(Code::kUsage, "stride, dilation or kernel is 0");
    const int64_t reach = v.dilation[at] * (v.kernel[at] - 1) + 1;
    v.out[at] =
        v.transposed
            ? (v.in[at] - 1) * v.stride[at] - 2 * v.padding[at] + reach + more
            : (v.in[at] + 2 * v.padding[at] < reach ? 0 : (v.in[at] + 2 * v.padding[at] - reach) / v.stride[at] + 1);
    if (v.out[at] < (v.transposed ? 0 : 1)) return c.fail(Code::kUsage, "the input is smaller than the kernel");
    v.in_pixels *= v.in[at];
    v.out_pixels *= v.out[at];
    v.taps *= v.kernel[at];
  }
  return v;
}

// Scratch for unfolding: one group's columns, [channels in group * taps, output pixels].
uint64_t scratch(Call& c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  if (c.bad()) return 0;
  auto v = conv_of(c, x, w);
  if (!v || v->transposed) return 0;
  const int64_t dims[] = {v->in_channels / v->groups, v->taps, v->out_pixels, 4};
  return static_cast<uint64_t>(checked_numel(dims).value_or(0));
}

// Range of output positions o in [0, out) with 0 <= o * stride - padding + tap < in.
struct Range {
  int64_t begin, end;
};
Range covered(int64_t in, int64_t out, int64_t stride, int64_t shift) {
  const int64_t begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t end = in - shift <= 0 ? 0 : (in - shift + stride - 1) / stride;
  return {std::min(begin, out), std::clamp<int64_t>(end, std::min(begin, out), out)};
}

// f32, contiguous: each group is weight[out, in * taps] times the unfolded input.
void unfolded_f32(Call& c, const Conv& v, const float* x, const float* w, const float* bias, float* out,
                  float* columns) {
  const int64_t gi = v.in_channels / v.groups, go = v.out_channels / v.groups, depth = gi * v.taps;
  const bool pointwise = v.taps == 1 && v.in_pixels == v.out_pixels && v.padding == std::array<int64_t, 3>{};
  for (int64_t b = 0; b < v.batch; ++b)
    for (int64_t g = 0; g < v.groups; ++g) {
      const float* image = x + (b * v.in_channels + g * gi) * v.in_pixels;
      float* to = out + (b * v.out_channels + g * go) * v.out_pixels;
      for (int64_t o = 0; o < go; ++o) std::fill_n(to + o * v.out_pixels, v.out_pixels, bias ? bias[g * go + o] : 0.0f);
      if (!pointwise)
        parallel_for(c.pool(), depth, std::max<int64_t>(1, 32768 / v.out_pixels), [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const float* plane = image + row / v.taps * v.in_pixels;
            const int64_t tap = row % v.taps, kd = tap / (v.kernel[1] * v.kernel[2]),
                          kh = tap / v.kernel[2] % v.kernel[1], kw = tap % v.kernel[2];
            float* line = columns + row * v.out_pixels;
            const int64_t shift = kw * v.dilation[2] - v.padding[2];
            const Range r = covered(v.in[2], v.out[2], v.stride[2], shift);
            for (int64_t d = 0; d < v.out[0]; ++d)
              for (int64_t h = 0; h < v.out[1]; ++h, line += v.out[2]) {
                const int64_t id = d * v.stride[0] + kd * v.dilation[0] - v.padding[0],
                              ih = h * v.stride[1] + kh * v.dilation[1] - v.padding[1];
                if (id < 0 || id >= v.in[0] || ih < 0 || ih >= v.in[1]) {
                  std::fill_n(line, v.out[2], 0.0f);
                  continue;
                }
                const float* from = plane + (id * v.in[1] + ih) * v.in[2] + shift;
                std::fill(line, line + r.begin, 0.0f);
                for (int64_t o = r.begin; o < r.end; ++o) line[o] = from[o * v.stride[2]];
                std::fill(line + r.end, line + v.out[2], 0.0f);
              }
          }
        });
      gemm_f32(c.pool(), {w + g * go * depth, depth, 1}, {pointwise ? image : columns, v.out_pixels, 1}, to,
               v.out_pixels, go, v.out_pixels, depth);
    }
}

// Any float or int type, any layout, transposed or not: straight from the definition, in C.
template <class C>
void direct(Call& c, const Conv& v, const Tensor& x, const Tensor& w, const Tensor* bias, Tensor& out) {
  const int64_t gi = v.in_channels / v.groups, go = v.out_channels / v.groups;
  const auto spatial = [&](const Tensor& t, size_t at) {
    return at < 3 - v.dims ? int64_t{0} : t.strides[2 + at - (3 - v.dims)];
  };
  parallel_for(c.pool(), v.batch * v.out_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t bo = begin; bo < end; ++bo) {
      const int64_t b = bo / v.out_channels, o = bo % v.out_channels, g = o / go;
      for (int64_t p = 0; p < v.out_pixels; ++p) {
        const std::array<int64_t, 3> at = {p / (v.out[1] * v.out[2]), p / v.out[2] % v.out[1], p % v.out[2]};
        using Sum = std::conditional_t<std::is_integral_v<C>, uint64_t, double>;
        Sum s = bias ? static_cast<Sum>(load_one<C>(*bias, o)) : Sum{0};
        for (int64_t t = 0; t < v.taps; ++t) {
          const std::array<int64_t, 3> k = {t / (v.kernel[1] * v.kernel[2]), t / v.kernel[2] % v.kernel[1],
                                            t % v.kernel[2]};
          int64_t xi = b * x.strides[0], wi = 0;
          bool inside = true;
          for (size_t d = 0; d < 3; ++d) {
            int64_t i;
            if (v.transposed) {
              i = at[d] + v.padding[d] - k[d] * v.dilation[d];
              inside = inside && i >= 0 && i % v.stride[d] == 0;
              i /= v.stride[d];
            } else {
              i = at[d] * v.stride[d] - v.padding[d] + k[d] * v.dilation[d];
            }
            inside = inside && i >= 0 && i < v.in[d];
            xi += i * spatial(x, d);
            wi += k[d] * spatial(w, d);
          }
          if (!inside) continue;
          for (int64_t i = 0; i < gi; ++i) {
            const int64_t weight_at = v.transposed ? (g * gi + i) * w.strides[0] + o % go * w.strides[1]
                                                   : o * w.strides[0] + i * w.strides[1];
            s += static_cast<Sum>(load_one<C>(x, xi + (g * gi + i) * x.strides[1])) *
                 static_cast<Sum>(load_one<C>(w, wi + weight_at));
          }
        }
        const int64_t to = b * out.strides[0] + o * out.strides[1] + at[0] * spatial(out, 0) + at[1] * spatial(out, 1) +
                           at[2] * spatial(out, 2);
        store_one<C>(out, to, static_cast<C>(s));
      }
    }
  });
}

Result<void> convolution(Call& c) {
  const Tensor &x = c.in(0), &w = c.in(1);
  const Tensor* bias = c.optional_in(2);
  Tensor& out = c.out(9);
  EW_TRY(c.ok());
  EW_ASSIGN(const Conv v, conv_of(c, x, w));
  if (!plain({&x, &w, &out}) || x.dtype != w.dtype || x.dtype != out.dtype || (bias && bias->dtype != x.dtype))
    return c.unsupported(w.dtype);
  if (bias && bias->numel() != v.out_channels)
    return c.fail(Code::kUsage, "bias of {} for {} channels", bias->numel(), v.out_channels);
  Shape s = shape_of(x);
  s[1] = v.out_channels;
  for (size_t d = 0; d < v.dims; ++d) s[2 + d] = v.out[3 - v.dims + d];
  EW_TRY(c.resize(out, s.span()));
  if (out.numel() == 0) return {};
  if (!v.transposed && x.dtype == DType::f32 && x.contiguous() && w.contiguous() && out.contiguous()) {
    auto* columns = reinterpret_cast<float*>(c.scratch(scratch(c)));
    if (!columns) return c.fail(Code::kUnsupported, "out of memory");
    unfolded_f32(c, v, x.as<float>(), w.as<float>(), bias ? bias->as<float>() : nullptr, out.as<float>(), columns);
    return {};
  }
  visit_compute(compute_of(x.dtype), [&]<class C>(C) { direct<C>(c, v, x, w, bias, out); });
  return {};
}

constexpr Kernel kTable[] = {
    {"aten::convolution.out", convolution, scratch},
};
static_assert(sorted_by_name(kTable));

}  // namespace
const std::span<const Kernel> kConvKernels = kTable;
}  // namespace edgewright::runtime
