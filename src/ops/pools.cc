#include "ops/pools.h"

namespace edgewright::ops {

PoolAxis PoolAxis::sliding(const WindowAxis& a, bool count_padding) {
  PoolAxis r;
  r.in = a.in;
  for (int64_t o = 0; o < a.out; ++o) {
    std::vector<int64_t> reads;
    for (int64_t k = 0; k < a.kernel; ++k)
      if (const int64_t i = a.source(o, k); i >= 0) reads.push_back(i);
    const int64_t start = o * a.stride - a.pad;
    r.counts.push_back(count_padding ? std::min(start + a.kernel, a.in + a.pad) - start
                                     : static_cast<int64_t>(reads.size()));
    r.reads.push_back(std::move(reads));
  }
  return r;
}
PoolAxis PoolAxis::adaptive(int64_t in, int64_t out) {
  PoolAxis r;
  r.in = in;
  for (int64_t o = 0; o < out; ++o) {
    std::vector<int64_t> reads;
    const int64_t begin = o * in / out, end = ((o + 1) * in + out - 1) / out;
    for (int64_t i = begin; i < end; ++i) reads.push_back(i);
    r.counts.push_back(end - begin);
    r.reads.push_back(std::move(reads));
  }
  return r;
}

namespace {

// Calls f(flat) for each position of the window of output `o` (an index into the spatial dims), row-major.
template <class F>
void each_read(const Pool& p, const int64_t* o, F f) {
  const size_t n = p.axes.size();
  std::array<const std::vector<int64_t>*, 3> reads{};
  for (size_t d = 0; d < n; ++d) {
    reads[d] = &p.axes[d].reads[static_cast<size_t>(o[d])];
    if (reads[d]->empty()) return;
  }
  const auto rec = [&](auto&& self, size_t d, int64_t flat) -> void {
    for (const int64_t i : *reads[d]) {
      const int64_t at = flat * p.axes[d].in + i;
      if (d + 1 == n)
        f(at);
      else
        self(self, d + 1, at);
    }
  };
  rec(rec, 0, 0);
}
int64_t count(const Pool& p, const int64_t* o) {
  if (p.divisor) return *p.divisor;
  int64_t n = 1;
  for (size_t d = 0; d < p.axes.size(); ++d) n *= p.axes[d].counts[static_cast<size_t>(o[d])];
  return n;
}
// Puts a flat spatial position into an index.
void place(const Pool& p, int64_t flat, int64_t* index) {
  for (size_t d = p.axes.size(); d-- > 0;) {
    index[p.first + d] = flat % p.axes[d].in;
    flat /= p.axes[d].in;
  }
}
template <class R>
R lowest(DType t) {
  if constexpr (!std::is_same_v<R, int64_t>)
    return R(-INFINITY);
  else {
    if (is_bool(t) || t == DType::u8 || t == DType::u16 || t == DType::u32 || t == DType::u64) return 0;
    return t == DType::i64 ? INT64_MIN : -(int64_t{1} << (8 * size_of(t) - 1));
  }
}
// What replaces the best so far: anything larger, and every NaN.
template <class R>
bool takes_over(const R& x, const R& best) {
  if constexpr (std::is_same_v<R, int64_t>)
    return x > best;
  else
    return num::value(x) > num::value(best) || num::value(x) != num::value(x);
}

template <class R, class I>
void each_element(const Pool& p, const I& in, Index at, auto f) {
  IndexBuffer index;
  std::copy(at.begin(), at.end(), index.begin());
  each_read(p, at.data() + p.first, [&](int64_t flat) {
    place(p, flat, index.data());
    f(flat, element<R>(in, 0, Index(index.data(), at.size())));
  });
}

// [outer, spatial, inner] of a whole tensor.
struct Split {
  int64_t outer = 1, inner = 1, in = 1, out = 1;
  std::vector<int64_t> out_sizes;
};
Split split(const Pool& p, const std::vector<int64_t>& sizes) {
  Split s;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (d < p.first)
      s.outer *= sizes[d];
    else if (d >= p.first + p.axes.size())
      s.inner *= sizes[d];
  for (const PoolAxis& a : p.axes) {
    s.in *= a.in;
    s.out_sizes.push_back(static_cast<int64_t>(a.reads.size()));
    s.out *= s.out_sizes.back();
  }
  return s;
}
// Calls f(first element of the input's plane, first element of the output's row, output index) for each output position.
void each_output(const Split& s, auto f) {
  if (s.out == 0 || s.inner == 0) return;
  for (int64_t o = 0; o < s.outer; ++o) {
    std::vector<int64_t> at(s.out_sizes.size(), 0);
    int64_t k = 0;
    do f(o * s.in * s.inner, (o * s.out + k++) * s.inner, at.data());
    while (next_index(at, s.out_sizes));
  }
}

}  // namespace

Point max_pool_point(DType t, const Pool& p) {
  return arithmetic_point(t, [=]<class R>(const auto& in, Index at, R) -> R {
    R best = lowest<R>(t);
    bool first = true;
    each_element<R>(p, in, at, [&](int64_t, R x) {
      if constexpr (std::is_same_v<R, int64_t>)
        best = std::max(best, x);
      else
        best = first ? x : num::maximum(best, x);
      first = false;
    });
    return clamped(best, p.min, p.max);
  });
}
Point max_pool_index_point(DType t, const Pool& p) {
  return int_point([=](const In& in, Index at) -> int64_t {
    return visit_kind(t, [&]<class R>(R) -> int64_t {
      R best = lowest<R>(t);
      int64_t where = -1;
      each_element<R>(p, in, at, [&](int64_t flat, R x) {
        if (where < 0) where = flat;  // stays where nothing is larger than the lowest number
        if (takes_over(x, best)) best = x, where = flat;
      });
      return std::max<int64_t>(where, 0);
    });
  });
}
Point avg_pool_point(DType, const Pool& p) {
  return float_point([=](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    Sum<R> sum;
    each_element<R>(p, in, at, [&](int64_t, R x) { sum.add(x); });
    if constexpr (std::is_same_v<R, Bounded>)
      if (sum.n == 0) return R(0);
    return clamped(sum.get() / R(static_cast<double>(
                                   std::max<int64_t>(count(p, at.data() + p.first), p.divisor ? *p.divisor : 1))),
                   p.min, p.max);
  });
}

void max_pool_whole(const Pool& p, const ir::Tensor& in, ir::Tensor& out, ir::Tensor* indices) {
  visit_kind(in.dtype, [&]<class R>(R) {
    const std::vector<R> x = elements<R>(in);
    const Split s = split(p, in.sizes);
    std::vector<R> y(static_cast<size_t>(out.numel()), lowest<R>(in.dtype));
    std::vector<int64_t> where(indices ? y.size() : 0, -1);
    each_output(s, [&](int64_t from, int64_t to, const int64_t* o) {
      each_read(p, o, [&](int64_t flat) {
        for (int64_t c = 0; c < s.inner; ++c) {
          const auto at = static_cast<size_t>(to + c);
          const R v = x[static_cast<size_t>(from + flat * s.inner + c)];
          if (indices && where[at] < 0) where[at] = flat;
          if (!takes_over(v, y[at])) continue;
          y[at] = v;
          if (indices) where[at] = flat;
        }
      });
      for (int64_t c = 0; c < s.inner; ++c)
        y[static_cast<size_t>(to + c)] = clamped(y[static_cast<size_t>(to + c)], p.min, p.max);
    });
    assign(out, y);
    if (indices) {
      for (int64_t& w : where) w = std::max<int64_t>(w, 0);
      assign(*indices, where);
    }
  });
}

void avg_pool_whole(const Pool& p, const ir::Tensor& in, ir::Tensor& out) {
  const std::vector<double> x = to_doubles(in);
  const Split s = split(p, in.sizes);
  std::vector<double> y(static_cast<size_t>(out.numel()), 0.0);
  each_output(s, [&](int64_t from, int64_t to, const int64_t* o) {
    double* row = &y[static_cast<size_t>(to)];
    bool any = false;
    each_read(p, o, [&](int64_t flat) {
      any = true;
      const double* v = &x[static_cast<size_t>(from + flat * s.inner)];
      for (int64_t c = 0; c < s.inner; ++c) row[c] += v[c];
    });
    const double n = static_cast<double>(any ? count(p, o) : 1);
    for (int64_t c = 0; c < s.inner; ++c) row[c] = clamped(row[c] / n, p.min, p.max);
  });
  assign(out, y);
}

PoolArgs pool_args(const Call& c, size_t spatial) {
  PoolArgs a;
  a.kernel = spatial_ints(c, "kernel_size", spatial);
  a.stride = c.ints("stride").empty() ? a.kernel : spatial_ints(c, "stride", spatial);
  a.padding = spatial_ints(c, "padding", spatial);
  a.dilation =
      c.op().schema.index_of("dilation") >= 0 ? spatial_ints(c, "dilation", spatial) : std::vector<int64_t>(spatial, 1);
  a.ceil_mode = c.flag("ceil_mode");
  for (size_t d = 0; d < spatial; ++d) {
    if (a.kernel[d] < 1 || a.stride[d] < 1 || a.dilation[d] < 1)
      c.error("[pool.1] kernel, stride and dilation must be positive");
    else if (a.padding[d] < 0 || a.padding[d] > ((a.kernel[d] - 1) * a.dilation[d] + 1) / 2)
      c.error("[pool.1] padding must not be negative or more than half the kernel");
  }
  const int64_t rank = c.rank("self"), s = static_cast<int64_t>(spatial);
  if (rank != s + 1 && rank != s + 2) c.error(fmt::format("[pool.2] input has rank {}", rank));
  return a;
}
Shape pool_shape(const Call& c, const PoolArgs& a) {
  Shape s = c.type(0).shape;
  if (c.failed()) return s;
  const size_t first = s.size() - a.kernel.size();
  for (size_t d = 0; d < a.kernel.size(); ++d) {
    s[first + d] =
        window_output(s[first + d], a.kernel[d], a.stride[d], a.padding[d], a.padding[d], a.dilation[d], a.ceil_mode);
    if (s[first + d].is_constant() && s[first + d].value() < 1)
      c.error("[pool.3] the window is larger than the padded input");
  }
  return s;
}
Pool sliding_pool(const Call& c, const PoolArgs& a, bool count_padding) {
  const Shape out = pool_shape(c, a);
  Pool p;
  if (c.failed()) return p;
  const Shape& in = c.type(0).shape;
  p.first = in.size() - a.kernel.size();
  for (size_t d = 0; d < a.kernel.size(); ++d)
    p.axes.push_back(PoolAxis::sliding(
        {in[p.first + d].value(), out[p.first + d].value(), a.kernel[d], a.stride[d], a.padding[d], a.dilation[d]},
        count_padding));
  return p;
}

Shape adaptive_shape(const Call& c, size_t spatial) {
  const int64_t rank = c.rank("self"), n = static_cast<int64_t>(spatial);
  if (rank != n + 1 && rank != n + 2) c.error(fmt::format("[pool.2] input has rank {}", rank));
  const Shape out = c.dims("output_size");
  if (out.size() != spatial) c.error(fmt::format("[pool.4] output_size has {} entries", out.size()));
  Shape s = c.type(0).shape;
  if (c.failed()) return s;
  for (size_t d = 0; d < spatial; ++d) {
    Dim& size = s[s.size() - spatial + d];
    if (size == Dim(0)) c.error("[pool.4] a spatial dim is empty");
    if (out[d].is_constant() && out[d].value() < 0) c.error("[pool.4] output_size is negative");
    size = out[d];
  }
  return s;
}
Pool adaptive_pool(const Call& c, size_t spatial) {
  const Shape out = adaptive_shape(c, spatial);
  Pool p;
  if (c.failed()) return p;
  const Shape& in = c.type(0).shape;
  p.first = in.size() - spatial;
  for (size_t d = p.first; d < in.size(); ++d) p.axes.push_back(PoolAxis::adaptive(in[d].value(), out[d].value()));
  return p;
}

ir::Value* adaptive_by_slices(Builder& b, ir::Value* x, const std::vector<int64_t>& out, const char* fold) {
  const size_t rank = x->tensor()->rank(), first = rank - out.size();
  int64_t windows = 0;
  for (size_t d = 0; d < out.size(); ++d) {
    if (!x->tensor()->shape[first + d].is_constant() || out[d] < 1) return nullptr;
    windows += out[d];
  }
  if (windows > 64) return nullptr;
  for (size_t d = 0; d < out.size(); ++d) {
    const int64_t dim = static_cast<int64_t>(first + d), in = x->tensor()->shape[first + d].value();
    if (in == out[d]) continue;
    std::vector<ir::Value*> parts;
    for (int64_t o = 0; o < out[d]; ++o) {
      const int64_t begin = o * in / out[d], end = ((o + 1) * in + out[d] - 1) / out[d];
      parts.push_back(b(fold, {b("aten.slice.Tensor", {x, dim, begin, end, 1}), ir::Arg::ints({dim}), true}));
    }
    x = parts.size() == 1 ? parts[0] : b("aten.cat", {ir::Arg::values(parts), dim});
    if (!x) return nullptr;
  }
  return x;
}
std::optional<std::vector<int64_t>> even_windows(const Shape& in, const std::vector<int64_t>& out) {
  std::vector<int64_t> k;
  for (size_t d = 0; d < out.size(); ++d) {
    const Dim& size = in[in.size() - out.size() + d];
    if (!size.is_constant() || out[d] < 1 || size.value() % out[d] != 0) return std::nullopt;
    k.push_back(size.value() / out[d]);
  }
  return k;
}

}  // namespace edgewright::ops
