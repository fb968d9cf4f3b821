// src/runtime/kernels/norm.cc - layer, group and batch normalization. Mean and variance in double, two passes.
#include "runtime/kernels/common.h"
#include "runtime/kernels/tables.h"

namespace edgewright::runtime {
namespace {

struct Moments {
  double mean, rstd;
};

template <class T>
Moments moments(const T* x, int64_t n, double eps) {
  double lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) lanes[k] += static_cast<double>(x[i + k]);
  for (; i < n; ++i) lanes[0] += static_cast<double>(x[i]);
  double sum = 0;
  for (double& l : lanes) sum += std::exchange(l, 0);
  const double mean = sum / static_cast<double>(n);
  for (i = 0; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k)
      lanes[k] += (static_cast<double>(x[i + k]) - mean) * (static_cast<double>(x[i + k]) - mean);
  for (; i < n; ++i) lanes[0] += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
  sum = 0;
  for (double l : lanes) sum += l;
  return {mean, 1.0 / std::sqrt(sum / static_cast<double>(n) + eps)};
}

// The same over any float dtype.
Moments moments_of(const Tensor& x, int64_t at, int64_t n, double eps) {
  if (x.dtype == DType::f32) return moments(x.as<float>() + at, n, eps);
  double sum = 0, q = 0;
  for (int64_t i = 0; i < n; ++i) sum += load_one<double>(x, at + i);
  const double mean = sum / static_cast<double>(n);
  for (int64_t i = 0; i < n; ++i) {
    const double d = load_one<double>(x, at + i) - mean;
    q += d * d;
  }
  return {mean, 1.0 / std::sqrt(q / static_cast<double>(n) + eps)};
}

bool float_or_absent(const Tensor* t) { return !t || is_float(t->dtype); }
double value_or(const Tensor* t, int64_t i, double otherwise) { return t ? load_one<double>(*t, i) : otherwise; }

// native_layer_norm(input, normalized_shape, weight?, bias?, eps) -> out, mean, rstd
Result<void> layer_norm(Call& c) {
  const Tensor& x = c.in(0);
  const auto shape = c.ints(1);
  const Tensor *weight = c.optional_in(2), *bias = c.optional_in(3);
  const double eps = c.real(4);
  Tensor &out = c.out(5), &mean = c.out(6), &rstd = c.out(7);
  EW_TRY(c.ok());
  if (!is_float(x.dtype) || out.dtype != x.dtype || !float_or_absent(weight) || !float_or_absent(bias) ||
      !is_float(mean.dtype) || !is_float(rstd.dtype))
    return c.unsupported(x.dtype);
  if (!x.contiguous()) return c.fail(Code::kUnsupported, "an input that is not in C order");
  if (shape.size() > x.rank || shape.empty()) return c.fail(Code::kUsage, "{} normalized dimensions", shape.size());
  const size_t kept = x.rank - shape.size();
  int64_t n = 1, rows = 1;
  Shape stats = shape_of(x);
  for (size_t d = 0; d < x.rank; ++d) {
    if (d >= kept && x.sizes[d] != shape[d - kept])
      return c.fail(Code::kUsage, "the normalized shape is not the input's");
    (d >= kept ? n : rows) *= x.sizes[d];
    if (d >= kept) stats[d] = 1;
  }
  if ((weight && weight->numel() != n) || (bias && bias->numel() != n))
    return c.fail(Code::kUsage, "weight or bias has another shape");
  EW_TRY(c.resize(out, x.shape()));
  EW_TRY(c.resize(mean, stats.span()));
  EW_TRY(c.resize(rstd, stats.span()));
  if (!out.contiguous()) return c.fail(Code::kUnsupported, "an output that is not in C order");
  const bool fast =
      x.dtype == DType::f32 && (!weight || weight->dtype == DType::f32) && (!bias || bias->dtype == DType::f32);
  parallel_for(c.pool(), rows, std::max<int64_t>(1, 16384 / (n + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const Moments m = moments_of(x, r * n, n, eps);
      store_one<double>(mean, r, m.mean);
      store_one<double>(rstd, r, m.rstd);
      if (fast) {
        const float* p = x.as<float>() + r * n;
        float* q = out.as<float>() + r * n;
        const float scale = static_cast<float>(m.rstd), mean_f = static_cast<float>(m.mean);
        const float *w = weight ? weight->as<float>() : nullptr, *b = bias ? bias->as<float>() : nullptr;
        if (w && b)
          for (int64_t i = 0; i < n; ++i) q[i] = (p[i] - mean_f) * scale * w[i] + b[i];
        else
          for (int64_t i = 0; i < n; ++i) q[i] = (p[i] - mean_f) * scale * (w ? w[i] : 1.0f) + (b ? b[i] : 0.0f);
      } else {
        for (int64_t i = 0; i < n; ++i)
          store_one<double>(
              out, r * n + i,
              (load_one<double>(x, r * n + i) - m.mean) * m.rstd * value_or(weight, i, 1) + value_or(bias, i, 0));
      }
    }
  });
  return {};
}

// native_group_norm(input, weight?, bias?, N, C, HxW, group, eps) -> out, mean [N, group], rstd
Result<void> group_norm(Call& c) {
  const Tensor& x = c.in(0);
  const Tensor *weight = c.optional_in(1), *bias = c.optional_in(2);
  const int64_t batch = c.integer(3), channels = c.integer(4), pixels = c.integer(5), groups = c.integer(6);
  const double eps = c.real(7);
  Tensor &out = c.out(8), &mean = c.out(9), &rstd = c.out(10);
  EW_TRY(c.ok());
  if (!is_float(x.dtype) || out.dtype != x.dtype || !float_or_absent(weight) || !float_or_absent(bias) ||
      !is_float(mean.dtype) || !is_float(rstd.dtype))
    return c.unsupported(x.dtype);
  if (!x.contiguous()) return c.fail(Code::kUnsupported, "an input that is not in C order");
  const int64_t dims[] = {batch, channels, pixels};
  if (x.rank < 2 || x.sizes[0] != batch || x.sizes[1] != channels || checked_numel(dims) != x.numel() || groups <= 0 ||
      channels % groups != 0 || (weight && weight->numel() != channels) || (bias && bias->numel() != channels))
    return c.fail(Code::kUsage, "the sizes do not go together");
  const int64_t stats[] = {batch, groups};
  EW_TRY(c.resize(out, x.shape()));
  EW_TRY(c.resize(mean, stats));
  EW_TRY(c.resize(rstd, stats));
  if (!out.contiguous()) return c.fail(Code::kUnsupported, "an output that is not in C order");
  const int64_t per_group = channels / groups, n = per_group * pixels;
  parallel_for(c.pool(), batch * groups, std::max<int64_t>(1, 16384 / (n + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      const Moments m = moments_of(x, g * n, n, eps);
      store_one<double>(mean, g, m.mean);
      store_one<double>(rstd, g, m.rstd);
      for (int64_t k = 0; k < per_group; ++k) {
        const int64_t channel = g % groups * per_group + k, at = g * n + k * pixels;
        const double scale = m.rstd * value_or(weight, channel, 1), shift = value_or(bias, channel, 0) - m.mean * scale;
        for (int64_t i = 0; i < pixels; ++i)
          store_one<double>(out, at + i, load_one<double>(x, at + i) * scale + shift);
      }
    }
  });
  return {};
}

// Batch norm with given statistics: (input, weight?, bias?, mean, var, momentum, eps) -> out, and two empty outputs.
Result<void> batch_norm(Call& c) {
  const Tensor& x = c.in(0);
  const Tensor *weight = c.optional_in(1), *bias = c.optional_in(2);
  const Tensor &mean = c.in(3), &var = c.in(4);
  const double eps = c.real(6);
  Tensor &out = c.out(7), &out1 = c.out(8), &out2 = c.out(9);
  EW_TRY(c.ok());
  if (!is_float(x.dtype) || !plain({&out}) || !float_or_absent(weight) || !float_or_absent(bias) ||
      !is_float(mean.dtype) || !is_float(var.dtype))
    return c.unsupported(x.dtype);
  if (x.rank < 2) return c.fail(Code::kUsage, "no channels");
  const int64_t channels = x.sizes[1];
  if (mean.numel() != channels || var.numel() != channels || (weight && weight->numel() != channels) ||
      (bias && bias->numel() != channels))
    return c.fail(Code::kUsage, "statistics for another number than {} channels", channels);
  EW_TRY(c.resize(out, x.shape()));
  const int64_t none[] = {0};
  EW_TRY(c.resize(out1, none));
  EW_TRY(c.resize(out2, none));
  Shape plane = shape_of(x);
  plane[1] = 1;
  const Nest<2> nest(plane.span(), {x.strides, out.strides});
  const auto& step = nest.strides[nest.rank - 1];
  parallel_for(c.pool(), channels, std::max<int64_t>(1, 16384 / (nest.total + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const double scale = value_or(weight, k, 1) / std::sqrt(load_one<double>(var, k) + eps);
      const double shift = value_or(bias, k, 0) - load_one<double>(mean, k) * scale;
      nest.run(0, nest.total, [&](const std::array<int64_t, 2>& at, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
          store_one<double>(out, at[1] + k * out.strides[1] + i * step[1],
                            load_one<double>(x, at[0] + k * x.strides[1] + i * step[0]) * scale + shift);
      });
    }
  });
  return {};
}

constexpr Kernel kTable[] = {
    {"aten::_native_batch_norm_legit_no_training.out", batch_norm},
    {"aten::native_group_norm.out", group_norm},
    {"aten::native_layer_norm.out", layer_norm},
};
static_assert(sorted_by_name(kTable));

}  // namespace
const std::span<const Kernel> kNormKernels = kTable;
}  // namespace edgewright::runtime
