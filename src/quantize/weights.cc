#include "quantize/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace edgewright::quantize {
namespace {

int8_t rounded(float x, float inverse, float lo, float hi) {
  return static_cast<int8_t>(std::clamp(std::nearbyint(x * inverse), lo, hi));
}
float to_bf16(float x) {
  std::byte two[2];
  ir::store_f(DType::bf16, two, 0, x);
  return static_cast<float>(ir::load_f(DType::bf16, two, 0));
}

}  // namespace

bool all_finite(const ir::Tensor& t) {
  const ir::Tensor x = t.contiguous();
  for (int64_t i = 0; i < x.numel(); ++i)
    if (!std::isfinite(ir::load_f(x.dtype, x.data, i))) return false;
  return true;
}

Quantized by_channel(const ir::Tensor& weight, int64_t axis) {
  const ir::Tensor w = weight.contiguous();
  const auto* x = reinterpret_cast<const float*>(w.data);
  const int64_t channels = w.sizes[static_cast<size_t>(axis)];
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(axis) + 1; d < w.sizes.size(); ++d) inner *= w.sizes[d];
  Quantized q{ir::Tensor::empty(DType::i8, w.sizes), ir::Tensor::empty(DType::f32, {channels})};
  auto* out = reinterpret_cast<int8_t*>(q.values.mutable_data());
  auto* scales = reinterpret_cast<float*>(q.scales.mutable_data());
  const int64_t n = w.numel();
  std::vector<float> most(static_cast<size_t>(channels), 0);
  for (int64_t first = 0, c = 0; first < n; first += inner, c = (c + 1) % channels)
    for (int64_t i = first; i < first + inner; ++i)
      most[static_cast<size_t>(c)] = std::max(most[static_cast<size_t>(c)], std::fabs(x[i]));
  for (int64_t c = 0; c < channels; ++c) scales[c] = std::max(most[static_cast<size_t>(c)] / 127.0F, kSmallestScale);
  for (int64_t first = 0, c = 0; first < n; first += inner, c = (c + 1) % channels) {
    const float inverse = 1.0F / scales[c];
    for (int64_t i = first; i < first + inner; ++i) out[i] = rounded(x[i], inverse, -127, 127);
  }
  return q;
}

Quantized by_group(const ir::Tensor& weight, int64_t group) {
  const ir::Tensor w = weight.contiguous();
  const auto* x = reinterpret_cast<const float*>(w.data);
  const int64_t rows = w.sizes[0], groups = w.sizes[1] / group;
  Quantized q{ir::Tensor::empty(DType::i8, w.sizes), ir::Tensor::empty(DType::f32, {rows, groups})};
  auto* out = reinterpret_cast<int8_t*>(q.values.mutable_data());
  auto* scales = reinterpret_cast<float*>(q.scales.mutable_data());
  for (int64_t g = 0; g < rows * groups; ++g) {
    const float* from = x + g * group;
    float most = 0;
    for (int64_t i = 0; i < group; ++i) most = std::max(most, std::fabs(from[i]));
    float best = to_bf16(std::max(most / 7.0F, kSmallestScale));
    double least = INFINITY;
    // A smaller scale clips the largest and renders all others more finely; -8 reaches further than 7.
    for (int step = 0; step <= 10 && most > 0; ++step) {
      const float scale = to_bf16(std::max(most / 7.0F * (1.0F - 0.025F * static_cast<float>(step)), kSmallestScale));
      double error = 0;
      for (int64_t i = 0; i < group; ++i) {
        const double d = from[i] - scale * static_cast<float>(rounded(from[i], 1.0F / scale, -8, 7));
        error += d * d;
      }
      if (error < least) {
        least = error;
        best = scale;
      }
    }
    scales[g] = best;
    for (int64_t i = 0; i < group; ++i) out[g * group + i] = rounded(from[i], 1.0F / best, -8, 7);
  }
  return q;
}

QParams of_range(float lo, float hi) {
  lo = std::min(lo, 0.0F);
  hi = std::max(hi, 0.0F);
  QParams q;
  // In double where the range itself leaves f32.
  const double range = static_cast<double>(hi) - static_cast<double>(lo);
  q.scale = std::isfinite(hi - lo) ? (hi - lo) / 255.0F : static_cast<float>(range / 255);
  q.scale = std::max(q.scale, kSmallestScale);
  q.zero_point = std::clamp<int64_t>(-128 - static_cast<int64_t>(std::nearbyint(lo / q.scale)), -128, 127);
  return q;
}

}  // namespace edgewright::quantize
