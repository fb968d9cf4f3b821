#include "ops/windows.h"

#include "base/parallel.h"
#include "ops/dense_source.h"
#include "ops/gemm.h"

namespace edgewright::ops {

Dim window_output(const Dim& in, const Dim& kernel, int64_t stride, int64_t pad_before, int64_t pad_after,
                  int64_t dilation, bool ceil_mode) {
  const Dim span = in + Dim(pad_before + pad_after) - Dim(dilation) * (kernel - Dim(1)) - Dim(1);
  if (!ceil_mode || stride == 1) return floordiv(span, stride) + Dim(1);
  return min(floordiv(span + Dim(stride - 1), stride), floordiv(in + Dim(pad_before - 1), stride)) + Dim(1);
}

std::vector<int64_t> spatial_ints(const Call& c, std::string_view param, size_t spatial) {
  std::vector<int64_t> v = c.ints(param);
  if (v.size() == 1) v.resize(spatial, v[0]);
  if (v.size() != spatial) {
    c.error(fmt::format("'{}' has {} entries for {} spatial dims", param, v.size(), spatial));
    v.assign(spatial, 1);
  }
  return v;
}

namespace {

// Dims of the operands in a canonical order, whatever the layout: x [n, g, i, s...], w [g, o, i, k...], y [n, g, o, s...].
struct Canonical {
  ir::Tensor x, w, y;
};

ir::Tensor view(const ir::Tensor& t, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  ir::Tensor v = t;
  v.sizes = std::move(sizes);
  v.strides = std::move(strides);
  return v;
}

// An activation as [n, g, c, s...].
ir::Tensor activation(const Convolution& c, const ir::Tensor& t, int64_t per_group) {
  const size_t first = c.batched ? 1 : 0, spatial = c.axes.size();
  const size_t channel = c.channels_last ? first + spatial : first, at = c.channels_last ? first : first + 1;
  std::vector<int64_t> sizes{c.batched ? t.sizes[0] : 1, c.groups, per_group};
  std::vector<int64_t> strides{c.batched ? t.strides[0] : 0, t.strides[channel] * per_group, t.strides[channel]};
  for (size_t d = 0; d < spatial; ++d) {
    sizes.push_back(t.sizes[at + d]);
    strides.push_back(t.strides[at + d]);
  }
  return view(t, std::move(sizes), std::move(strides));
}

// The weight as [g, o, k..., i]: what a row of the product is.
ir::Tensor weight_rows(const Convolution& c, const ir::Tensor& t) {
  using W = Convolution::Weight;
  const size_t spatial = c.axes.size();
  int64_t g = 0, o = 0, i = 0;
  size_t k = 0;
  switch (c.weight_layout) {
    case W::kOutIn: g = t.strides[0] * c.out_per_group, o = t.strides[0], i = t.strides[1], k = 2; break;
    case W::kInOut: g = t.strides[0] * c.in_per_group, o = t.strides[1], i = t.strides[0], k = 2; break;
    case W::kOutSpatialIn:
      g = t.strides[0] * c.out_per_group, o = t.strides[0], i = t.strides[spatial + 1], k = 1;
      break;
    case W::kSpatialOut: g = t.strides[spatial + 1] * c.out_per_group, o = t.strides[spatial + 1], i = 0, k = 1; break;
  }
  std::vector<int64_t> sizes{c.groups, c.out_per_group}, strides{g, o};
  for (size_t d = 0; d < spatial; ++d) {
    sizes.push_back(t.sizes[k + d]);
    strides.push_back(t.strides[k + d]);
  }
  sizes.push_back(c.in_per_group);
  strides.push_back(i);
  return view(t, std::move(sizes), std::move(strides));
}

// Reads windows of one group of one image as columns of a matrix whose rows are (tap, channel).
template <class T>
struct Columns {
  const T* data;
  int64_t channels, channel_stride;
  std::vector<std::vector<int64_t>> offsets;  // per axis: [o * kernel + k], element offset or -1
  const std::vector<WindowAxis>& axes;

  Columns(const Convolution& c, const ir::Tensor& x, const T* at)
      : data(at), channels(c.in_per_group), channel_stride(x.strides[2]), axes(c.axes) {
    for (size_t d = 0; d < axes.size(); ++d) {
      const WindowAxis& a = axes[d];
      std::vector<int64_t> table(static_cast<size_t>(a.out * a.kernel));
      for (int64_t o = 0; o < a.out; ++o)
        for (int64_t k = 0; k < a.kernel; ++k) {
          const int64_t i = a.source(o, k);
          table[static_cast<size_t>(o * a.kernel + k)] = i < 0 ? -1 : i * x.strides[3 + d];
        }
      offsets.push_back(std::move(table));
    }
  }

  void operator()(int64_t k0, int64_t k1, int64_t p0, int64_t count, double* to) const {
    const size_t spatial = axes.size();
    // Row of each axis's table for each pixel.
    std::array<std::array<const int64_t*, kGemmCols>, 3> rows;
    for (int64_t j = 0; j < count; ++j) {
      int64_t p = p0 + j;
      for (size_t d = spatial; d-- > 0;) {
        rows[d][static_cast<size_t>(j)] = &offsets[d][static_cast<size_t>(p % axes[d].out * axes[d].kernel)];
        p /= axes[d].out;
      }
    }
    while (k0 < k1) {
      const int64_t tap = k0 / channels, c0 = k0 % channels, c1 = std::min(channels, c0 + (k1 - k0));
      std::array<int64_t, 3> k{};
      for (int64_t t = tap, d = static_cast<int64_t>(spatial); d-- > 0;) {
        k[static_cast<size_t>(d)] = t % axes[static_cast<size_t>(d)].kernel;
        t /= axes[static_cast<size_t>(d)].kernel;
      }
      for (int64_t j = 0; j < count; ++j) {
        int64_t at = 0;
        for (size_t d = 0; d < spatial; ++d) {
          const int64_t o = rows[d][static_cast<size_t>(j)][k[d]];
          if (o < 0) {
            at = -1;
            break;
          }
          at += o;
        }
        double* out = to + j;
        if (at < 0)
          for (int64_t c = c0; c < c1; ++c, out += kGemmCols) *out = 0;
        else
          for (int64_t c = c0; c < c1; ++c, out += kGemmCols) *out = data[at + c * channel_stride];
      }
      to += (c1 - c0) * kGemmCols;
      k0 += c1 - c0;
    }
  }
};

// One channel of output from few channels of input: rows of the last axis at a time. `x` holds the group's planes.
EW_VECTOR_CLONES void add_scaled(double* y, const double* x, int64_t n, int64_t step, double w) {
  if (step == 1)
    for (int64_t i = 0; i < n; ++i) y[i] += w * x[i];
  else
    for (int64_t i = 0; i < n; ++i) y[i] += w * x[i * step];
}
void direct(const Convolution& c, const std::vector<double>& x, const double* w, std::vector<double>& y) {
  const size_t spatial = c.axes.size();
  const WindowAxis& last = c.axes.back();
  std::fill(y.begin(), y.end(), 0.0);
  std::vector<int64_t> outer_out, outer_kernel;
  int64_t plane = 1;
  for (size_t d = 0; d < spatial; ++d) {
    plane *= c.axes[d].in;
    if (d + 1 < spatial) {
      outer_out.push_back(c.axes[d].out);
      outer_kernel.push_back(c.axes[d].kernel);
    }
  }
  std::vector<int64_t> o(outer_out.size(), 0), k(outer_out.size(), 0);
  double* row = y.data();
  if (y.empty()) return;
  do {
    const double* tap = w;
    std::fill(k.begin(), k.end(), 0);
    do {
      int64_t base = 0;
      bool inside = true;
      for (size_t d = 0; d + 1 < spatial && inside; ++d) {
        const int64_t i = c.axes[d].source(o[d], k[d]);
        inside = i >= 0;
        base = base * c.axes[d].in + i;
      }
      for (int64_t kl = 0; kl < last.kernel; ++kl, tap += c.in_per_group) {
        if (!inside) continue;
        // Outputs whose source lies inside: o * stride - pad + kl * dilation in [0, in).
        const int64_t shift = kl * last.dilation - last.pad;
        const int64_t lo = shift >= 0 ? 0 : (-shift + last.stride - 1) / last.stride;
        const int64_t hi = last.in - shift <= 0 ? 0 : std::min(last.out, (last.in - shift - 1) / last.stride + 1);
        if (lo >= hi) continue;
        for (int64_t ci = 0; ci < c.in_per_group; ++ci)
          add_scaled(row + lo, &x[static_cast<size_t>(ci * plane + base * last.in + lo * last.stride + shift)], hi - lo,
                     last.stride, tap[ci]);
      }
    } while (next_index(k, outer_kernel));
    row += last.out;
  } while (next_index(o, outer_out));
}

}  // namespace

void convolution_whole(const Convolution& c, std::span<const ir::Tensor> in, ir::Tensor& out) {
  const ir::Tensor x = activation(c, f32_or_f64(in[static_cast<size_t>(c.input)]), c.in_per_group);
  const ir::Tensor y = activation(c, out, c.out_per_group);
  ir::Tensor w = weight_rows(c, f32_or_f64(in[static_cast<size_t>(c.weight)])).contiguous();
  const std::vector<double> bias = c.bias >= 0 ? to_doubles(in[static_cast<size_t>(c.bias)]) : std::vector<double>();
  int64_t taps = 1, pixels = 1;
  for (const WindowAxis& a : c.axes) {
    taps *= a.kernel;
    pixels *= a.out;
  }
  const int64_t depth = taps * c.in_per_group, pixel_stride = y.strides.back();
  std::byte* to = out.mutable_data();
  const auto put = [&](int64_t n, int64_t g, int64_t o, int64_t p0, int64_t count, const double* sums) {
    const double extra = bias.empty() ? 0 : bias[static_cast<size_t>(g * c.out_per_group + o)];
    const int64_t at = n * y.strides[0] + g * y.strides[1] + o * y.strides[2] + p0 * pixel_stride;
    for (int64_t p = 0; p < count; ++p) {
      const double v = clamped(sums[p] + extra, c.min, c.max);
      if (is_float(out.dtype))
        ir::store_f(out.dtype, to, at + p * pixel_stride, v);
      else
        ir::store_i(out.dtype, to, at + p * pixel_stride, static_cast<int64_t>(v));
    }
  };
  const bool few = c.in_per_group * c.out_per_group <= 4 && !(c.axes[0].transposed);
  const std::vector<double> wd = few ? to_doubles(w) : std::vector<double>();
  const int64_t work = std::max<int64_t>(1, depth * c.out_per_group * pixels);
  parallel_for(x.sizes[0] * c.groups, std::max<int64_t>(1, 200000 / work), [&](int64_t begin, int64_t end) {
    for (int64_t job = begin; job < end; ++job) {
      const int64_t n = job / c.groups, g = job % c.groups;
      const int64_t at = n * x.strides[0] + g * x.strides[1];
      if (few) {
        ir::Tensor planes = x;
        planes.data += at * static_cast<int64_t>(size_of(x.dtype));
        planes.sizes.erase(planes.sizes.begin(), planes.sizes.begin() + 2);
        planes.strides.erase(planes.strides.begin(), planes.strides.begin() + 2);
        const std::vector<double> xd = to_doubles(planes);
        std::vector<double> sums(static_cast<size_t>(pixels));
        for (int64_t o = 0; o < c.out_per_group; ++o) {
          direct(c, xd, &wd[static_cast<size_t>((g * c.out_per_group + o) * depth)], sums);
          put(n, g, o, 0, pixels, sums.data());
        }
        continue;
      }
      const GemmPack rows = visit_float(
          w, [&](const auto* p) { return pack_strided(p + g * c.out_per_group * depth, depth, 1, kGemmRows); });
      const GemmPack columns = visit_float(x, [&](const auto* p) -> GemmPack { return Columns(c, x, p + at); });
      gemm(c.out_per_group, pixels, depth, rows, columns,
           [&](int64_t i0, int64_t m, int64_t j0, int64_t cols, const double* sums, int64_t stride) {
             for (int64_t i = 0; i < m; ++i) put(n, g, i0 + i, j0, cols, sums + i * stride);
           });
    }
  });
}

Point convolution_point(DType t, const Convolution& c) {
  return arithmetic_point(t, [c]<class R>(const auto& in, Index at, R) -> R {
    const size_t spatial = c.axes.size(), first = c.batched ? 1 : 0;
    const size_t channel = c.channels_last ? first + spatial : first, space = c.channels_last ? first : first + 1;
    const int64_t o = at[channel], g = o / c.out_per_group, og = o % c.out_per_group;
    IndexBuffer x{}, w{};
    if (c.batched) x[0] = at[0];
    std::array<int64_t, 3> k{}, kernel{};
    for (size_t d = 0; d < spatial; ++d) kernel[d] = c.axes[d].kernel;
    Sum<R> sum;
    using W = Convolution::Weight;
    const bool trailing = c.weight_layout == W::kOutSpatialIn || c.weight_layout == W::kSpatialOut;
    DenseFactors dense;
    if constexpr (!std::is_same_v<R, int64_t>) dense = dense_factors(in, c.input, c.weight);
    const size_t inner = c.weight_layout == W::kOutIn ? 1 : c.weight_layout == W::kInOut ? 0 : 1 + spatial;
    do {
      bool inside = true;
      for (size_t d = 0; d < spatial; ++d) {
        x[space + d] = c.axes[d].source(at[space + d], k[d]);
        inside = inside && x[space + d] >= 0;
      }
      if (!inside) continue;
      for (size_t d = 0; d < spatial; ++d) w[(trailing ? 1 : 2) + d] = k[d];
      const auto place = [&](int64_t i) {  // of input channel i of the group, in both
        x[channel] = g * c.in_per_group + i;
        switch (c.weight_layout) {
          case W::kOutIn: w[0] = o, w[1] = i; break;
          case W::kInOut: w[0] = x[channel], w[1] = og; break;
          case W::kOutSpatialIn: w[0] = o, w[1 + spatial] = i; break;
          case W::kSpatialOut: w[0] = 0, w[1 + spatial] = o; break;
        }
      };
      const Index at_x(x.data(), first + 1 + spatial), at_w(w.data(), 2 + spatial);
      if constexpr (!std::is_same_v<R, int64_t>)
        if (dense) {
          place(0);
          add_products(sum, c.in_per_group, dense.a->data + dense.a->offset_of(at_x) * 4, dense.a->strides[channel],
                       dense.b->data + dense.b->offset_of(at_w) * 4, dense.b->strides[inner]);
          continue;
        }
      for (int64_t i = 0; i < c.in_per_group; ++i) {
        place(i);
        sum.add(times<R>(element<R>(in, c.input, at_x), element<R>(in, c.weight, at_w)));
      }
    } while (next_index({k.data(), spatial}, {kernel.data(), spatial}));
    if (c.bias >= 0) sum.add(element<R>(in, c.bias, Index(&o, 1)));
    return clamped(sum.get(), c.min, c.max);
  });
}

}  // namespace edgewright::ops
