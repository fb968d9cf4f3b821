#include "ops/resample.h"

namespace edgewright::ops {
namespace {

template <class T>
T scale_of(int64_t in, int64_t out, bool align_corners, std::optional<double> scale) {
  if (align_corners) return out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0);
  if (scale && *scale > 0) return static_cast<T>(1.0 / *scale);
  return static_cast<T>(in) / static_cast<T>(out);
}

// The element at or before a place, of [lo, hi]: a given scale may lead anywhere.
template <class T>
int64_t element_at(T place, int64_t lo, int64_t hi) {
  return place > static_cast<T>(lo) ? (place < static_cast<T>(hi) ? static_cast<int64_t>(place) : hi) : lo;
}

template <class T>
std::vector<Tap> linear(T at, int64_t in) {
  const int64_t i = element_at(at, 0, in - 1);
  const T w = std::clamp(at - static_cast<T>(i), T(0), T(1));
  if (i + 1 >= in) return {{i, 1}};
  return {{i, static_cast<double>(T(1) - w)}, {i + 1, static_cast<double>(w)}};
}

// Keys' convolution with a = -0.75.
template <class T>
std::vector<Tap> cubic(T at, int64_t in) {
  const T a = T(-0.75), floor = std::floor(at), t = at - floor;
  const auto near = [a](T x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [a](T x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  const T w[4] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  std::vector<Tap> taps;
  for (int64_t k = 0; k < 4; ++k)
    taps.push_back({std::clamp<int64_t>(element_at(floor, -3, in + 2) - 1 + k, 0, in - 1), static_cast<double>(w[k])});
  return taps;
}

template <class T>
std::vector<Tap> antialiased(int64_t o, T scale, int64_t in) {
  const T support = scale >= 1 ? scale : T(1), inverse = scale >= 1 ? 1 / scale : T(1),
          center = scale * (static_cast<T>(o) + T(0.5));
  // Far beyond the image, where PyTorch reads what it should not, the last element stands.
  const int64_t begin = element_at(center - support + T(0.5), 0, std::max<int64_t>(in - 1, 0));
  const int64_t end = element_at(center + support + T(0.5), std::min(begin + 1, in), in);
  std::vector<Tap> taps;
  T total = 0;
  for (int64_t i = begin; i < end; ++i) {
    const T w = std::max(T(0), 1 - std::fabs((static_cast<T>(i) - center + T(0.5)) * inverse));
    taps.push_back({i, static_cast<double>(w)});
    total += w;
  }
  if (total != 0)
    for (Tap& t : taps) t.weight = static_cast<double>(static_cast<T>(t.weight) / total);
  return taps;
}

template <class T>
AxisTaps taps(Interpolation how, int64_t in, int64_t out, bool align_corners, std::optional<double> scale,
              bool half_pixel) {
  AxisTaps all;
  const T s = scale_of<T>(in, out, align_corners, scale);
  for (int64_t o = 0; o < out; ++o) {
    const T x = static_cast<T>(o);
    const T at = align_corners || !half_pixel ? s * x : s * (x + T(0.5)) - T(0.5);
    switch (how) {
      case Interpolation::kNearest:
        if (out == in)
          all.push_back({{o, 1}});
        else if (out == 2 * in)
          all.push_back({{o / 2, 1}});
        else
          all.push_back({{element_at(std::floor(x * s), 0, in - 1), 1}});
        break;
      case Interpolation::kNearestExact:
        all.push_back({{element_at(std::floor((x + T(0.5)) * s), 0, in - 1), 1}});
        break;
      case Interpolation::kLinear: all.push_back(linear(std::max(at, T(0)), in)); break;
      case Interpolation::kCubic: all.push_back(cubic(at, in)); break;
      case Interpolation::kLinearAntialiased: all.push_back(antialiased(o, s, in)); break;
    }
  }
  return all;
}

}  // namespace

AxisTaps axis_taps(Interpolation how, int64_t in, int64_t out, bool align_corners, std::optional<double> scale,
                   bool in_double, bool half_pixel) {
  return in_double ? taps<double>(how, in, out, align_corners, scale, half_pixel)
                   : taps<float>(how, in, out, align_corners, scale, half_pixel);
}

Point resample_point(const Resample& r) {
  return float_point([r](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    IndexBuffer index;
    std::copy(at.begin(), at.end(), index.begin());
    Sum<R> sum;
    const auto rec = [&](auto&& self, size_t d, R weight) -> void {
      if (d == r.axes.size()) {
        sum.add(weight * in.f(0, Index(index.data(), at.size())));
        return;
      }
      for (const Tap& t : r.axes[d][static_cast<size_t>(at[r.first + d])]) {
        index[r.first + d] = t.index;
        R w(t.weight);
        // A weight is a difference of positions, rounded where they are large.
        if constexpr (std::is_same_v<R, Bounded>)
          if (t.weight != 1) w.e = 8 * Bounded::u * static_cast<double>(t.index + 1);
        self(self, d + 1, weight * w);
      }
    };
    rec(rec, 0, R(1.0));
    return sum.get();
  });
}

void resample_whole(const Resample& r, const ir::Tensor& in, ir::Tensor& out) {
  std::vector<double> x = to_doubles(in);
  std::vector<int64_t> sizes = in.sizes;
  for (size_t d = 0; d < r.axes.size(); ++d) {
    const size_t dim = r.first + d;
    int64_t outer = 1, inner = 1;
    for (size_t k = 0; k < sizes.size(); ++k)
      if (k < dim)
        outer *= sizes[k];
      else if (k > dim)
        inner *= sizes[k];
    const int64_t n = sizes[dim], m = static_cast<int64_t>(r.axes[d].size());
    std::vector<double> y(static_cast<size_t>(outer * m * inner), 0.0);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t j = 0; j < m; ++j) {
        double* to = y.data() + (o * m + j) * inner;
        for (const Tap& t : r.axes[d][static_cast<size_t>(j)]) {
          const double* from = x.data() + (o * n + t.index) * inner;
          for (int64_t i = 0; i < inner; ++i) to[i] += t.weight * from[i];
        }
      }
    x = std::move(y);
    sizes[dim] = m;
  }
  assign(out, x);
}

}  // namespace edgewright::ops
