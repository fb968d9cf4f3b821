// src/runtime/kernels/extra.cc - operators that few programs have: running products and extremes, scatter with a reduction, distances,
// sampling on a grid, pools that tell positions, special functions, random numbers. Plain loops in double (or int64).
#include <vector>

#include "base/special.h"
#include "runtime/kernels/common.h"
#include "runtime/kernels/pooled.h"
#include "runtime/kernels/tables.h"

namespace edgewright::runtime {
namespace {

// Offset in elements of the element with C-order number `i`.
int64_t offset_of(const Tensor& t, int64_t i) {
  int64_t at = 0;
  for (size_t d = t.rank; d-- > 0;) {
    at += i % t.sizes[d] * t.strides[d];
    i /= t.sizes[d];
  }
  return at;
}
// f(offset of x's first element of a line along dim) for every line.
template <class F>
void each_line(const Tensor& x, size_t dim, F&& f) {
  Tensor outer = x;
  if (outer.rank > 0) outer.sizes[dim] = 1;
  const int64_t n = outer.numel();
  for (int64_t i = 0; i < n; ++i) f(i, outer);
}
int64_t length(const Tensor& x, size_t dim) { return x.rank == 0 ? 1 : x.sizes[dim]; }
int64_t step(const Tensor& x, size_t dim) { return x.rank == 0 ? 1 : x.strides[dim]; }
int64_t line_start(const Tensor& t, const Tensor& outer, int64_t i) {
  Tensor shape = t;
  shape.sizes = outer.sizes;
  return offset_of(shape, i);
}

// cumprod(self, dim, dtype?): elements are cast first, products rounded once.
Result<void> cumprod(Call& c) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(1, x.rank);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (!plain({&x, &out})) return c.unsupported(x.dtype);
  EW_TRY(c.resize(out, x.shape()));
  if (x.numel() == 0) return {};
  visit_compute(compute_of(out.dtype) == Compute::kInt ? Compute::kInt : Compute::kDouble, [&]<class C>(C) {
    each_line(x, dim, [&](int64_t i, const Tensor& outer) {
      const int64_t from = line_start(x, outer, i), to = line_start(out, outer, i);
      using Wide = std::conditional_t<std::is_same_v<C, int64_t>, uint64_t, double>;
      Wide p = 1;
      for (int64_t k = 0; k < length(x, dim); ++k) {
        C v = load_one<C>(x, from + k * step(x, dim));
        store_one<C>(out, to + k * step(out, dim), v);
        v = load_one<C>(out, to + k * step(out, dim));  // as the dtype holds it
        p *= static_cast<Wide>(v);
        store_one<C>(out, to + k * step(out, dim), static_cast<C>(p));
      }
    });
  });
  return {};
}

// cummax, cummin(self, dim, values, indices): of equal ones the later; a NaN stays.
template <bool kMax>
Result<void> cumulative_extreme(Call& c) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(1, x.rank);
  Tensor &values = c.out(2), &where = c.out(3);
  EW_TRY(c.ok());
  if (!plain({&x, &values}) || x.dtype != values.dtype || where.dtype != DType::i64) return c.unsupported(x.dtype);
  EW_TRY(c.resize(values, x.shape()));
  EW_TRY(c.resize(where, x.shape()));
  if (x.numel() == 0) return {};
  visit_compute(compute_of(x.dtype) == Compute::kInt ? Compute::kInt : Compute::kDouble, [&]<class C>(C) {
    each_line(x, dim, [&](int64_t i, const Tensor& outer) {
      const int64_t from = line_start(x, outer, i), to = line_start(values, outer, i), at = line_start(where, outer, i);
      C best = load_one<C>(x, from);
      int64_t index = 0;
      for (int64_t k = 0; k < length(x, dim); ++k) {
        const C v = load_one<C>(x, from + k * step(x, dim));
        if (v != v || (best == best && (kMax ? v >= best : v <= best))) {
          best = v;
          index = k;
        }
        store_one<C>(values, to + k * step(values, dim), best);
        store_one<int64_t>(where, at + k * step(where, dim), index);
      }
    });
  });
  return {};
}

// scatter.reduce, scatter_reduce.two(self, dim, index, src, reduce, include_self?, out); scatter.value_reduce with a number.
enum class Reduce : uint8_t { kSum, kProd, kMean, kMax, kMin };
Result<void> scatter_with(Call& c, size_t out_at, bool include_self) {
  const Tensor &self = c.in(0), &index = c.in(2);
  const size_t dim = c.axis(1, self.rank);
  const bool is_number = c.is_number(3);
  const Tensor* src = is_number ? nullptr : &c.in(3);
  const std::string_view name = c.text(4);
  Tensor& out = c.out(out_at);
  EW_TRY(c.ok());
  if (!plain({&self, &out}) || self.dtype != out.dtype || (src && src->dtype != self.dtype) ||
      index.dtype != DType::i64)
    return c.unsupported(self.dtype);
  Reduce how = Reduce::kSum;
  if (name == "prod" || name == "multiply")
    how = Reduce::kProd;
  else if (name == "mean")
    how = Reduce::kMean;
  else if (name == "amax")
    how = Reduce::kMax;
  else if (name == "amin")
    how = Reduce::kMin;
  else if (name != "sum" && name != "add")
    return c.fail(Code::kUsage, "no reduction '{}'", name);
  if (index.rank != self.rank || (src && src->rank != self.rank)) return c.fail(Code::kUsage, "ranks differ");
  for (size_t d = 0; d < index.rank; ++d)
    if ((d != dim && index.sizes[d] > self.sizes[d]) || (src && index.sizes[d] > src->sizes[d]))
      return c.fail(Code::kUsage, "the index is larger than what it indexes");
  EW_TRY(c.resize(out, self.shape()));
  const int64_t n = self.numel(), m = index.numel();
  return visit_compute(compute_of(self.dtype) == Compute::kInt ? Compute::kInt : Compute::kDouble,
                       [&]<class C>(C) -> Result<void> {
                         std::vector<C> all(static_cast<size_t>(n));
                         std::vector<int64_t> counts(static_cast<size_t>(n), 0);
                         for (int64_t i = 0; i < n; ++i)
                           all[static_cast<size_t>(i)] = load_one<C>(self, offset_of(self, i));
                         const auto dense = dense_strides(self.shape());
                         for (int64_t i = 0; i < m; ++i) {
                           int64_t rest = i, at = 0, from = 0;
                           const int64_t k = load_one<int64_t>(index, offset_of(index, i));
                           if (k < 0 || k >= length(self, dim))
                             return c.fail(Code::kUsage, "index {} in a dim of size {}", k, length(self, dim));
                           for (size_t d = index.rank; d-- > 0;) {
                             const int64_t x = rest % index.sizes[d];
                             rest /= index.sizes[d];
                             at += (d == dim ? k : x) * dense[d];
                             if (src) from += x * src->strides[d];
                           }
                           const C v = src ? load_one<C>(*src, from) : scalar_as<C>(c.scalar(3));
                           C& to = all[static_cast<size_t>(at)];
                           if (counts[static_cast<size_t>(at)]++ == 0 && !include_self) {
                             to = v;
                             continue;
                           }
                           using Wide = std::conditional_t<std::is_same_v<C, int64_t>, uint64_t, double>;
                           switch (how) {
                             case Reduce::kSum:
                             case Reduce::kMean:
                               to = static_cast<C>(static_cast<Wide>(to) + static_cast<Wide>(v));
                               break;
                             case Reduce::kProd:
                               to = static_cast<C>(static_cast<Wide>(to) * static_cast<Wide>(v));
                               break;
                             case Reduce::kMax: to = v != v || v > to ? v : to; break;
                             case Reduce::kMin: to = v != v || v < to ? v : to; break;
                           }
                         }
                         for (int64_t i = 0; i < n; ++i) {
                           C v = all[static_cast<size_t>(i)];
                           if (const int64_t k = counts[static_cast<size_t>(i)]; how == Reduce::kMean && k > 0) {
                             const int64_t by = k + (include_self ? 1 : 0);
                             if constexpr (std::is_same_v<C, int64_t>)
                               v = v / by - (v % by < 0);
                             else
                               v /= static_cast<double>(by);
                           }
                           store_one<C>(out, offset_of(out, i), v);
                         }
                         return {};
                       });
}
Result<void> scatter_reduce_two(Call& c) { return scatter_with(c, 6, c.boolean(5)); }
Result<void> scatter_reduce(Call& c) { return scatter_with(c, 5, true); }

// The p-norm of the difference of two rows.
template <class Get>
double distance(double p, int64_t m, Get&& difference) {
  double r = p == 0 || std::isfinite(p) ? 0.0 : 0.0;
  for (int64_t k = 0; k < m; ++k) {
    const double d = std::fabs(difference(k));
    if (p == 0)
      r += d != 0 ? 1 : 0;
    else if (p == 1)
      r += d;
    else if (p == 2)
      r += d * d;
    else if (std::isinf(p))
      r = d != d || d > r ? d : r;
    else
      r += std::pow(d, p);
  }
  return p == 2 ? std::sqrt(r) : p == 0 || p == 1 || std::isinf(p) ? r : std::pow(r, 1 / p);
}

// _cdist_forward(x1, x2, p, compute_mode?): batch dims broadcast.
Result<void> cdist(Call& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  const double p = c.real(2);
  Tensor& out = c.out(4);
  EW_TRY(c.ok());
  if (!is_float(a.dtype) || a.dtype != b.dtype || out.dtype != a.dtype) return c.unsupported(a.dtype);
  if (a.rank < 2 || b.rank < 2 || a.sizes[a.rank - 1] != b.sizes[b.rank - 1] || !(p >= 0))
    return c.fail(Code::kUsage, "rows that have no distance");
  const size_t rank = std::max(a.rank, b.rank);
  Shape s;
  s.rank = rank;
  for (size_t d = 0; d + 2 < rank; ++d) {
    const int64_t x = d + a.rank >= rank ? a.sizes[d + a.rank - rank] : 1;
    const int64_t y = d + b.rank >= rank ? b.sizes[d + b.rank - rank] : 1;
    if (x != y && x != 1 && y != 1) return c.fail(Code::kUsage, "batches of {} and {}", x, y);
    s[d] = x == 1 ? y : x;
  }
  s[rank - 2] = a.sizes[a.rank - 2];
  s[rank - 1] = b.sizes[b.rank - 2];
  EW_TRY(c.resize(out, s.span()));
  const int64_t m = a.sizes[a.rank - 1], sa = a.strides[a.rank - 1], sb = b.strides[b.rank - 1];
  parallel_for(c.pool(), out.numel(), std::max<int64_t>(1, 4096 / std::max<int64_t>(m, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   int64_t rest = i, x = 0, y = 0;
                   for (size_t d = rank; d-- > 0;) {
                     const int64_t k = rest % s[d];
                     rest /= s[d];
                     if (d + 1 == rank) {
                       y += k * b.strides[b.rank - 2];
                     } else if (d + 2 == rank) {
                       x += k * a.strides[a.rank - 2];
                     } else {
                       if (d + a.rank >= rank && a.sizes[d + a.rank - rank] > 1) x += k * a.strides[d + a.rank - rank];
                       if (d + b.rank >= rank && b.sizes[d + b.rank - rank] > 1) y += k * b.strides[d + b.rank - rank];
                     }
                   }
                   store_one<double>(out, offset_of(out, i), distance(p, m, [&](int64_t k) {
                                       return load_one<double>(a, x + k * sa) - load_one<double>(b, y + k * sb);
                                     }));
                 }
               });
  return {};
}

// _pdist_forward(self, p): distances of all pairs of rows i < j.
Result<void> pdist(Call& c) {
  const Tensor& x = c.in(0);
  const double p = c.real(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (!is_float(x.dtype) || out.dtype != x.dtype) return c.unsupported(x.dtype);
  if (x.rank != 2 || !(p >= 0)) return c.fail(Code::kUsage, "rows that have no distance");
  const int64_t n = x.sizes[0], m = x.sizes[1], count = n * (n - 1) / 2;
  EW_TRY(c.resize(out, std::span(&count, 1)));
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j)
      store_one<double>(out, at++, distance(p, m, [&](int64_t k) {
                          return load_one<double>(x, i * x.strides[0] + k * x.strides[1]) -
                                 load_one<double>(x, j * x.strides[0] + k * x.strides[1]);
                        }));
  return {};
}

// grid_sampler_2d(input [n, c, h, w], grid [n, h', w', 2], mode, padding, align_corners)
struct Grid {
  int64_t mode = 0, padding = 0;  // bilinear, nearest, bicubic; zeros, border, reflection
  bool align = false;

  static double reflect(double x, double twice_low, double twice_high) {
    if (twice_low == twice_high) return 0;
    const double low = twice_low / 2, span = (twice_high - twice_low) / 2;
    x = std::fabs(x - low);
    const double extra = std::fmod(x, span);
    return static_cast<int64_t>(std::floor(x / span)) % 2 == 0 ? extra + low : span - extra + low;
  }
  double inside(double x, int64_t n) const {
    const double size = static_cast<double>(n);
    const auto clip = [&](double v) { return std::min(size - 1, std::max(v, 0.0)); };
    if (padding == 1) return clip(x);
    if (padding == 2) return clip(align ? reflect(x, 0, 2 * (size - 1)) : reflect(x, -1, 2 * size - 1));
    return x;
  }
  // Up to four places along one axis, with weights; those outside are left out.
  struct Taps {
    std::array<int64_t, 4> at{};
    std::array<double, 4> weight{};
    size_t n = 0;
  };
  Taps taps(double g, int64_t n) const {
    Taps t;
    const auto add = [&](double i, double w) {
      if (!(i >= 0 && i < static_cast<double>(n))) return;
      t.at[t.n] = static_cast<int64_t>(i);
      t.weight[t.n++] = w;
    };
    const double size = static_cast<double>(n);
    double x = align ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
    if (mode == 2) {
      const double floor = std::floor(x), f = x - floor, a = -0.75;
      const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
      const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
      const double w[4] = {far(f + 1), near(f), near(1 - f), far(2 - f)};
      for (int k = 0; k < 4; ++k) add(inside(floor - 1 + k, n), w[k]);
      return t;
    }
    x = inside(x, n);
    if (mode == 1) {
      add(std::nearbyint(x), 1);
      return t;
    }
    const double floor = std::floor(x);
    add(floor, floor + 1 - x);
    add(floor + 1, x - floor);
    return t;
  }
};
Result<void> grid_sampler(Call& c) {
  const Tensor &x = c.in(0), &grid = c.in(1);
  const Grid g{c.integer(2), c.integer(3), c.boolean(4)};
  Tensor& out = c.out(5);
  EW_TRY(c.ok());
  if (!is_float(x.dtype) || grid.dtype != x.dtype || out.dtype != x.dtype) return c.unsupported(x.dtype);
  if (x.rank != 4 || grid.rank != 4 || grid.sizes[3] != 2 || grid.sizes[0] != x.sizes[0] || g.mode < 0 || g.mode > 2 ||
      g.padding < 0 || g.padding > 2 || x.sizes[2] == 0 || x.sizes[3] == 0)
    return c.fail(Code::kUsage, "a grid that does not fit its input");
  const int64_t shape[] = {x.sizes[0], x.sizes[1], grid.sizes[1], grid.sizes[2]};
  EW_TRY(c.resize(out, shape));
  const int64_t rows = shape[2], columns = shape[3];
  parallel_for(c.pool(), shape[0] * rows * columns, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t b = i / (rows * columns), h = i / columns % rows, w = i % columns;
      const int64_t at = b * grid.strides[0] + h * grid.strides[1] + w * grid.strides[2];
      const Grid::Taps tx = g.taps(load_one<double>(grid, at), x.sizes[3]),
                       ty = g.taps(load_one<double>(grid, at + grid.strides[3]), x.sizes[2]);
      for (int64_t ch = 0; ch < shape[1]; ++ch) {
        double s = 0;
        for (size_t r = 0; r < ty.n; ++r)
          for (size_t k = 0; k < tx.n; ++k)
            s += ty.weight[r] * tx.weight[k] *
                 load_one<double>(
                     x, b * x.strides[0] + ch * x.strides[1] + ty.at[r] * x.strides[2] + tx.at[k] * x.strides[3]);
        store_one<double>(out, b * out.strides[0] + ch * out.strides[1] + h * out.strides[2] + w * out.strides[3], s);
      }
    }
  });
  return {};
}

template <auto F>
Result<void> special(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(1);
  EW_TRY(c.ok());
  if (!plain({&x, &out}) || !is_float(out.dtype)) return c.unsupported(x.dtype);
  EW_TRY(c.resize(out, x.shape()));
  map<double, 1>(c.pool(), out, {&x}, [](double v) { return static_cast<double>(F(v)); });
  return {};
}
double log_gamma(double x) {
  if (std::isinf(x) && x < 0) return INFINITY;
  int sign = 0;
  return lgamma_r(x, &sign);
}

// rand, randn(size): a generator of its own, seeded the same in every process; programs that need PyTorch's numbers cannot be exported.
thread_local uint64_t random_state = 0x9e3779b97f4a7c15ull;
double uniform() {
  random_state += 0x9e3779b97f4a7c15ull;
  uint64_t x = random_state;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<double>((x ^ (x >> 31)) >> 40) * 0x1p-24;  // as many bits as a float has
}
template <bool kNormal>
Result<void> random_numbers(Call& c) {
  const auto sizes = c.ints(0);
  Tensor& out = c.out(1);
  EW_TRY(c.ok());
  if (!is_float(out.dtype)) return c.unsupported(out.dtype);
  EW_TRY(c.resize(out, sizes.span()));
  for (int64_t i = 0; i < out.numel(); ++i) {
    double v = uniform();
    if (kNormal) v = std::sqrt(-2 * std::log(1 - v)) * std::cos(6.283185307179586 * uniform());
    store_one<double>(out, i, v);
  }
  return {};
}

// view_copy.dtype(self, dtype): the same bytes read as another type; the last dim grows or shrinks with the width.
Result<void> view_as_dtype(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (!x.contiguous() || !out.contiguous()) return c.fail(Code::kUnsupported, "a layout that is not C order");
  const auto from = static_cast<int64_t>(size_of(x.dtype)), to = static_cast<int64_t>(size_of(out.dtype));
  Shape s;
  s.rank = x.rank;
  for (size_t d = 0; d < x.rank; ++d) s[d] = x.sizes[d];
  if (from != to) {
    if (x.rank == 0 || s[x.rank - 1] * from % to != 0) return c.fail(Code::kUsage, "no whole number of elements");
    s[x.rank - 1] = s[x.rank - 1] * from / to;
  }
  EW_TRY(c.resize(out, s.span()));
  if (x.bytes() > 0) std::memmove(out.data, x.data, x.bytes());
  return {};
}

// Max pools that tell where: the plane's flat number of the greatest element, the first of equal ones, a NaN before all.
struct Range1 {
  int64_t from = 0, to = 0, step = 1;
};
// `window(d, o)`: what output o reads along spatial dim d, of `spatial` trailing dims.
template <class Window>
Result<void> pool_with_indices(Call& c, const Tensor& x, Tensor& out, Tensor& where, size_t spatial,
                               std::span<const int64_t> sizes, Window&& window) {
  if (!plain({&x, &out}) || x.dtype != out.dtype || where.dtype != DType::i64) return c.unsupported(x.dtype);
  EW_TRY(c.resize(out, sizes));
  EW_TRY(c.resize(where, sizes));
  const size_t first = x.rank - spatial;
  return visit_compute(
      compute_of(x.dtype) == Compute::kInt ? Compute::kInt : Compute::kDouble, [&]<class C>(C) -> Result<void> {
        for (int64_t i = 0; i < out.numel(); ++i) {
          std::array<int64_t, kMaxRank> o{};
          int64_t rest = i, base = 0;
          for (size_t d = out.rank; d-- > 0; rest /= out.sizes[d]) o[d] = rest % out.sizes[d];
          for (size_t d = 0; d < first; ++d) base += o[d] * x.strides[d];
          std::array<Range1, 3> r{{{0, 1, 1}, {0, 1, 1}, {0, 1, 1}}};
          for (size_t d = 0; d < spatial; ++d) r[3 - spatial + d] = window(d, o[first + d]);
          const auto stride = [&](size_t k) { return k + spatial < 3 ? 0 : x.strides[x.rank - 3 + k]; };
          const auto size = [&](size_t k) { return k + spatial < 3 ? 1 : x.sizes[x.rank - 3 + k]; };
          C best{};
          int64_t at = -1;
          for (int64_t a = r[0].from; a < r[0].to; a += r[0].step)
            for (int64_t b = r[1].from; b < r[1].to; b += r[1].step)
              for (int64_t e = r[2].from; e < r[2].to; e += r[2].step) {
                const C v = load_one<C>(
                    x, base + a * (spatial == 3 ? stride(0) : 0) + b * (spatial >= 2 ? stride(1) : 0) + e * stride(2));
                if (at < 0 || v > best || v != v) {
                  best = v;
                  at = (a * size(1) + b) * size(2) + e;
                }
              }
          if (at < 0) return c.fail(Code::kUsage, "a window without an element");
          store_one<C>(out, i, best);
          store_one<int64_t>(where, i, at);
        }
        return {};
      });
}
// adaptive_max_pool<n>d(self, output_size, out, indices)
template <size_t kSpatial>
Result<void> adaptive_max_pool(Call& c) {
  const Tensor& x = c.in(0);
  const auto size = c.ints(1);
  Tensor &out = c.out(2), &where = c.out(3);
  EW_TRY(c.ok());
  if (x.rank < kSpatial || x.rank > kSpatial + 2 || size.size() != kSpatial)
    return c.fail(Code::kUsage, "no such pool");
  Shape s;
  s.rank = x.rank;
  for (size_t d = 0; d < x.rank; ++d) s[d] = d + kSpatial < x.rank ? x.sizes[d] : size[d + kSpatial - x.rank];
  return pool_with_indices(c, x, out, where, kSpatial, s.span(), [&](size_t d, int64_t o) {
    const int64_t in = x.sizes[x.rank - kSpatial + d], n = size[d];
    return Range1{o * in / n, ((o + 1) * in + n - 1) / n, 1};
  });
}
// max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode, out, indices)
Result<void> max_pool3d(Call& c) {
  const Tensor& x = c.in(0);
  const auto three = [&](size_t i, int64_t otherwise) {
    std::array<int64_t, 3> v{otherwise, otherwise, otherwise};
    const auto given = c.ints(i);
    for (size_t k = 0; k < 3 && given.size() > 0; ++k) v[k] = given[given.size() == 1 ? 0 : k];
    return v;
  };
  const auto kernel = three(1, 1), padding = three(3, 0), dilation = three(4, 1);
  const auto stride = c.ints(2).empty() ? kernel : three(2, 1);
  const bool ceil = c.boolean(5);
  Tensor &out = c.out(6), &where = c.out(7);
  EW_TRY(c.ok());
  if (x.rank != 4 && x.rank != 5) return c.fail(Code::kUsage, "a pool of {} dims", x.rank);
  Shape s;
  s.rank = x.rank;
  for (size_t d = 0; d < x.rank; ++d) {
    s[d] = x.sizes[d];
    if (d + 3 < x.rank) continue;
    const size_t k = d + 3 - x.rank;
    s[d] = pooled(x.sizes[d], kernel[k], stride[k], padding[k], dilation[k], ceil);
    if (s[d] < 0) return c.fail(Code::kUsage, "the window does not fit the input");
  }
  return pool_with_indices(c, x, out, where, 3, s.span(), [&](size_t d, int64_t o) {
    Range1 r{o * stride[d] - padding[d], 0, dilation[d]};
    r.to = std::min(r.from + dilation[d] * (kernel[d] - 1) + 1, x.sizes[x.rank - 3 + d]);
    if (r.from < 0) r.from += (-r.from + dilation[d] - 1) / dilation[d] * dilation[d];
    return r;
  });
}

constexpr Kernel kTable[] = {
    {"aten::_cdist_forward.out", cdist},
    {"aten::_pdist_forward.out", pdist},
    {"aten::adaptive_max_pool2d.out", adaptive_max_pool<2>},
    {"aten::adaptive_max_pool3d.out", adaptive_max_pool<3>},
    {"aten::cummax.out", cumulative_extreme<true>},
    {"aten::cummin.out", cumulative_extreme<false>},
    {"aten::cumprod.out", cumprod},
    {"aten::digamma.out", special<digamma>},
    {"aten::erfinv.out", special<erfinv>},
    {"aten::grid_sampler_2d.out", grid_sampler},
    {"aten::lgamma.out", special<log_gamma>},
    {"aten::max_pool3d_with_indices.out", max_pool3d},
    {"aten::rand.out", random_numbers<false>},
    {"aten::randn.out", random_numbers<true>},
    {"aten::scatter.reduce_out", scatter_reduce},
    {"aten::scatter.value_reduce_out", scatter_reduce},
    {"aten::scatter_reduce.two_out", scatter_reduce_two},
    {"aten::view_copy.dtype_out", view_as_dtype},
};
static_assert(sorted_by_name(kTable));

}  // namespace
const std::span<const Kernel> kExtraKernels = kTable;
}  // namespace edgewright::runtime
