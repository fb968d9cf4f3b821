// src/ops/grid_sampler.cc - aten.grid_sampler_2d, grid_sampler (rank 4): reads input [n, c, h, w] at the positions that
// grid [n, h', w', 2] gives (x, y in [-1, 1]); bilinear, nearest or bicubic; outside: zeros, border or reflection.
#include "ops/dense.h"

namespace edgewright::ops {
namespace {

enum Mode : int64_t { kBilinear = 0, kNearest = 1, kBicubic = 2 };
enum Padding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };

struct Sampler {
  int64_t mode = 0, padding = 0;
  bool align_corners = false;
};

double reflect(double x, double twice_low, double twice_high) {
  if (twice_low == twice_high) return 0;
  const double low = twice_low / 2, span = (twice_high - twice_low) / 2;
  x = std::fabs(x - low);
  const double extra = std::fmod(x, span);
  return static_cast<int64_t>(std::floor(x / span)) % 2 == 0 ? extra + low : span - extra + low;
}
double clip(double x, int64_t n) { return std::min(static_cast<double>(n - 1), std::max(x, 0.0)); }
double unnormalize(const Sampler& s, double x, int64_t n) {
  const double size = static_cast<double>(n);
  return s.align_corners ? (x + 1) / 2 * (size - 1) : ((x + 1) * size - 1) / 2;
}
// Brings a position inside, as the padding asks.
double inside(const Sampler& s, double x, int64_t n) {
  const double size = static_cast<double>(n);
  if (s.padding == kBorder) return clip(x, n);
  if (s.padding == kReflection)
    return clip(s.align_corners ? reflect(x, 0, 2 * (size - 1)) : reflect(x, -1, 2 * size - 1), n);
  return x;
}

// Calls f(row or column, weight) for what one axis contributes; positions outside are left out.
struct AxisTap {
  int64_t at;
  double weight;
};
std::vector<AxisTap> axis(const Sampler& s, double g, int64_t n) {
  std::vector<AxisTap> taps;
  const auto add = [&](double i, double w) {
    if (i >= 0 && i < static_cast<double>(n)) taps.push_back({static_cast<int64_t>(i), w});
  };
  double x = unnormalize(s, g, n);
  if (s.mode == kBicubic) {
    const double floor = std::floor(x), t = x - floor, a = -0.75;
    const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    const double w[4] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    for (int k = 0; k < 4; ++k) add(inside(s, floor - 1 + k, n), w[k]);
    return taps;
  }
  x = inside(s, x, n);
  if (s.mode == kNearest) {
    add(std::nearbyint(x), 1);
    return taps;
  }
  const double floor = std::floor(x);
  add(floor, floor + 1 - x);
  add(floor + 1, x - floor);
  return taps;
}

Sampler read(const Call& c) {
  Sampler s{c.i("interpolation_mode"), c.i("padding_mode"), c.flag("align_corners")};
  const TensorType &x = c.tensor("input"), &g = c.tensor("grid");
  if (x.rank() != 4 || g.rank() != 4) c.error("[grid_sampler.1] input and grid must have rank 4");
  if (!is_float(x.dtype) || x.dtype != g.dtype) c.error("[grid_sampler.2] input and grid must have one float dtype");
  if (c.failed()) return s;
  if (s.mode < kBilinear || s.mode > kBicubic || s.padding < kZeros || s.padding > kReflection)
    c.error("[grid_sampler.3] unknown mode");
  if (differ(x.shape[0], g.shape[0]) || differ(g.shape[3], 2)) c.error("[grid_sampler.4] the grid does not fit");
  if (x.shape[2] == Dim(0) || x.shape[3] == Dim(0)) c.error("[grid_sampler.4] the input is empty");
  return s;
}
Result<Types> rule(const Call& c) {
  read(c);
  if (c.failed()) return Types{};
  const TensorType &x = c.type(0), &g = c.type(1);
  return Types{TensorType{x.dtype, {x.shape[0], x.shape[1], g.shape[1], g.shape[2]}}};
}

Result<Point> eval(const Call& c, size_t) {
  const Sampler s = read(c);
  if (c.failed()) return Point{};
  const int64_t h = c.type(0).shape[2].value(), w = c.type(0).shape[3].value();
  return float_point([=](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    const auto grid = [&](int64_t k) { return in.f(1, std::array<int64_t, 4>{at[0], at[2], at[3], k}); };
    const R gx = grid(0), gy = grid(1);
    const auto xs = axis(s, num::value(gx), w), ys = axis(s, num::value(gy), h);
    Sum<R> sum;
    for (const AxisTap& y : ys)
      for (const AxisTap& x : xs) {
        R weight(x.weight * y.weight);
        if constexpr (std::is_same_v<R, Bounded>) weight.e = 16 * Bounded::u * static_cast<double>(w + h);
        sum.add(weight * in.f(0, std::array<int64_t, 4>{at[0], at[1], y.at, x.at}));
      }
    R r = sum.get();
    // A position that is not exact may fall between other elements.
    if constexpr (std::is_same_v<R, Bounded>)
      if (gx.e != 0 || gy.e != 0) r.e = INFINITY;
    return r;
  });
}

OpDef definition(std::string op) {
  OpDef d;
  d.schema_text = fmt::format(
      "aten::{}(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
      op);
  d.infer = rule;
  d.eval = eval;
  d.agreement = Agreement::kReassociated;
  return d;
}

}  // namespace

std::vector<OpDef> define_grid_sampler() {
  OpDef any = definition("grid_sampler"), two = definition("grid_sampler_2d");
  any.decompose = [](const ir::Node& n, Builder& b) { return b.done({b("aten.grid_sampler_2d", n.args())}); };
  two.stock = "aten::grid_sampler_2d.out";
  return {any, two};
}
}  // namespace edgewright::ops
