// src/runtime/kernels/pool.cc - pooling and resizing of images.
#include "runtime/kernels/common.h"
#include "runtime/kernels/pooled.h"
#include "runtime/kernels/tables.h"

namespace edgewright::runtime {
namespace {

constexpr int64_t kMost = int64_t{1} << 30;

// An image tensor as planes of height by width: [.., channels, h, w] with or without a batch dim.
struct Planes {
  int64_t n = 1, c = 1, h = 1, w = 1;
  int64_t sn = 0, sc = 0, sh = 0, sw = 0;
  explicit Planes(const Tensor& t) {
    const size_t r = t.rank;
    h = t.sizes[r - 2];
    w = t.sizes[r - 1];
    sh = t.strides[r - 2];
    sw = t.strides[r - 1];
    if (r >= 3) {
      c = t.sizes[r - 3];
      sc = t.strides[r - 3];
    }
    if (r >= 4) {
      n = t.sizes[r - 4];
      sn = t.strides[r - 4];
    }
  }
  int64_t at(int64_t plane) const { return plane / c * sn + plane % c * sc; }
};

struct Pair {
  int64_t h, w;
};
Pair pair_of(const Call::Ints& l, Pair otherwise) {
  if (l.empty()) return otherwise;
  return l.size() == 1 ? Pair{l[0], l[0]} : Pair{l[0], l[1]};
}

Result<void> resize_planes(Call& c, Tensor& out, const Tensor& x, int64_t h, int64_t w) {
  Shape s = shape_of(x);
  s[x.rank - size_t{2}] = h;
  s[x.rank - size_t{1}] = w;
  return c.resize(out, s.span());
}

bool image(const Tensor& x) { return x.rank == 3 || x.rank == 4; }

// body(plane offsets in x and out) in parallel over all planes.
template <class Body>
void planes(Call& c, const Planes& x, const Planes& out, Body&& body) {
  parallel_for(c.pool(), x.n * x.c, std::max<int64_t>(1, 16384 / (out.h * out.w + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) body(x.at(p), out.at(p));
  });
}

// max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil_mode) -> values, places
Result<void> max_pool(Call& c) {
  const Tensor& x = c.in(0);
  const Pair k = pair_of(c.ints(1), {0, 0}), s = pair_of(c.ints(2), k), p = pair_of(c.ints(3), {0, 0}),
             d = pair_of(c.ints(4), {1, 1});
  const bool ceil = c.boolean(5);
  Tensor &out = c.out(6), &places = c.out(7);
  EW_TRY(c.ok());
  if (!image(x)) return c.fail(Code::kUsage, "{} dimensions", x.rank);
  if (!plain({&x}) || out.dtype != x.dtype || places.dtype != DType::i64) return c.unsupported(x.dtype);
  const Planes px(x);
  const int64_t h = pooled(px.h, k.h, s.h, p.h, d.h, ceil), w = pooled(px.w, k.w, s.w, p.w, d.w, ceil);
  if (h < 0 || w < 0) return c.fail(Code::kUsage, "the window does not fit the input");
  EW_TRY(resize_planes(c, out, x, h, w));
  EW_TRY(resize_planes(c, places, x, h, w));
  const Planes po(out), pi(places);
  visit_compute(compute_of(x.dtype), [&]<class C>(C) {
    const bool direct = x.dtype == native_dtype<C>;
    parallel_for(c.pool(), px.n * px.c, std::max<int64_t>(1, 16384 / (h * w + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane)
        for (int64_t oh = 0; oh < h; ++oh)
          for (int64_t ow = 0; ow < w; ++ow) {
            C best =
                std::is_floating_point_v<C> ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::lowest();
            int64_t place = -1;
            for (int64_t i = 0; i < k.h; ++i) {
              const int64_t ih = oh * s.h - p.h + i * d.h;
              if (ih < 0 || ih >= px.h) continue;
              for (int64_t j = 0; j < k.w; ++j) {
                const int64_t iw = ow * s.w - p.w + j * d.w;
                if (iw < 0 || iw >= px.w) continue;
                const int64_t at = px.at(plane) + ih * px.sh + iw * px.sw;
                const C v = direct ? x.as<C>()[at] : load_one<C>(x, at);
                if (place < 0 || v > best || v != v) {
                  best = v;
                  place = ih * px.w + iw;
                }
              }
            }
            store_one<C>(out, po.at(plane) + oh * po.sh + ow * po.sw, best);
            store_one<int64_t>(places, pi.at(plane) + oh * pi.sh + ow * pi.sw, place < 0 ? 0 : place);
          }
    });
  });
  return {};
}

// avg_pool2d(self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override?)
Result<void> avg_pool(Call& c) {
  const Tensor& x = c.in(0);
  const Pair k = pair_of(c.ints(1), {0, 0}), s = pair_of(c.ints(2), k), p = pair_of(c.ints(3), {0, 0});
  const bool ceil = c.boolean(4), include = c.boolean(5);
  const int64_t divisor = c.integer_or(6, 0);
  Tensor& out = c.out(7);
  EW_TRY(c.ok());
  if (!image(x)) return c.fail(Code::kUsage, "{} dimensions", x.rank);
  if (!is_float(x.dtype) || out.dtype != x.dtype) return c.unsupported(x.dtype);
  const Planes px(x);
  const int64_t h = pooled(px.h, k.h, s.h, p.h, 1, ceil), w = pooled(px.w, k.w, s.w, p.w, 1, ceil);
  if (h < 0 || w < 0) return c.fail(Code::kUsage, "the window does not fit the input");
  EW_TRY(resize_planes(c, out, x, h, w));
  const Planes po(out);
  planes(c, px, po, [&](int64_t from, int64_t to) {
    for (int64_t oh = 0; oh < h; ++oh)
      for (int64_t ow = 0; ow < w; ++ow) {
        const int64_t h0 = oh * s.h - p.h, w0 = ow * s.w - p.w;
        const int64_t h1 = std::min(h0 + k.h, px.h + p.h), w1 = std::min(w0 + k.w, px.w + p.w);
        const int64_t a = std::max<int64_t>(h0, 0), b = std::min(h1, px.h), e = std::max<int64_t>(w0, 0),
                      f = std::min(w1, px.w);
        double sum = 0;
        for (int64_t i = a; i < b; ++i)
          for (int64_t j = e; j < f; ++j) sum += load_one<double>(x, from + i * px.sh + j * px.sw);
        const int64_t count = divisor != 0 ? divisor : include ? (h1 - h0) * (w1 - w0) : (b - a) * (f - e);
        store_one<double>(out, to + oh * po.sh + ow * po.sw, sum / static_cast<double>(count));
      }
  });
  return {};
}

// _adaptive_avg_pool2d(self, output_size)
Result<void> adaptive_avg_pool(Call& c) {
  const Tensor& x = c.in(0);
  const auto size = c.ints(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (!image(x) || size.size() != 2 || size[0] < 0 || size[1] < 0)
    return c.fail(Code::kUsage, "no image, or no size for it");
  if (!is_float(x.dtype) || out.dtype != x.dtype) return c.unsupported(x.dtype);
  EW_TRY(resize_planes(c, out, x, size[0], size[1]));
  const Planes px(x), po(out);
  planes(c, px, po, [&](int64_t from, int64_t to) {
    for (int64_t oh = 0; oh < po.h; ++oh)
      for (int64_t ow = 0; ow < po.w; ++ow) {
        const int64_t a = oh * px.h / po.h, b = ((oh + 1) * px.h + po.h - 1) / po.h, e = ow * px.w / po.w,
                      f = ((ow + 1) * px.w + po.w - 1) / po.w;
        double sum = 0;
        for (int64_t i = a; i < b; ++i)
          for (int64_t j = e; j < f; ++j) sum += load_one<double>(x, from + i * px.sh + j * px.sw);
        store_one<double>(out, to + oh * po.sh + ow * po.sw, sum / static_cast<double>((b - a) * (f - e)));
      }
  });
  return {};
}

// Output size and scales of an upsampling: output_size? or scale_factors?
struct Upsample {
  int64_t h, w;
  double scale_h, scale_w;  // of input over output; 0 where the size was given
};
Result<Upsample> upsample_of(Call& c, const Tensor& x, size_t size_at, size_t scale_at) {
  if (x.rank != 4) return c.fail(Code::kUsage, "{} dimensions", x.rank);
  Upsample u{0, 0, 0, 0};
  if (!c.none(size_at)) {
    const auto size = c.ints(size_at);
    EW_TRY(c.ok());
    if (size.size() != 2) return c.fail(Code::kUsage, "a size of {} numbers", size.size());
    u.h = size[0];
    u.w = size[1];
  } else {
    const auto scale = c.doubles(scale_at);
    EW_TRY(c.ok());
    if (scale.size() != 2 || !(scale[0] > 0) || !(scale[1] > 0)) return c.fail(Code::kUsage, "no scale factors");
    const double h = static_cast<double>(x.sizes[2]) * scale[0], w = static_cast<double>(x.sizes[3]) * scale[1];
    if (!(h < kMost) || !(w < kMost)) return c.fail(Code::kUsage, "scale factors out of range");
    u = {static_cast<int64_t>(h), static_cast<int64_t>(w), 1.0 / scale[0], 1.0 / scale[1]};
  }
  if (u.h <= 0 || u.w <= 0 || u.h > kMost || u.w > kMost || x.sizes[2] == 0 || x.sizes[3] == 0)
    return c.fail(Code::kUsage, "size {} by {}", u.h, u.w);
  return u;
}

// upsample_nearest2d(input, output_size?, scale_factors?)
Result<void> nearest(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (x.dtype != out.dtype) return c.unsupported(out.dtype);
  EW_ASSIGN(const Upsample u, upsample_of(c, x, 1, 2));
  EW_TRY(resize_planes(c, out, x, u.h, u.w));
  const Planes px(x), po(out);
  const size_t item = size_of(x.dtype);
  // PyTorch computes these in float.
  const float sh = u.scale_h > 0 ? static_cast<float>(u.scale_h) : static_cast<float>(px.h) / static_cast<float>(po.h);
  const float sw = u.scale_w > 0 ? static_cast<float>(u.scale_w) : static_cast<float>(px.w) / static_cast<float>(po.w);
  planes(c, px, po, [&](int64_t from, int64_t to) {
    for (int64_t i = 0; i < po.h; ++i)
      for (int64_t j = 0; j < po.w; ++j) {
        const int64_t ih = std::min(static_cast<int64_t>(std::floor(static_cast<float>(i) * sh)), px.h - 1);
        const int64_t iw = std::min(static_cast<int64_t>(std::floor(static_cast<float>(j) * sw)), px.w - 1);
        std::memcpy(out.data + static_cast<size_t>(to + i * po.sh + j * po.sw) * item,
                    x.data + static_cast<size_t>(from + ih * px.sh + iw * px.sw) * item, item);
      }
  });
  return {};
}

// Where an output position falls between two input positions.
struct Between {
  int64_t lo, hi;
  double share;  // of hi
};
Between between(int64_t i, int64_t in, int64_t out, double given_scale, bool align) {
  double at;
  if (align) {
    const double scale = out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
    at = static_cast<double>(static_cast<float>(scale) * static_cast<float>(i));
  } else {
    const double scale = given_scale > 0 ? given_scale : static_cast<double>(in) / static_cast<double>(out);
    at = std::max(scale * (static_cast<double>(i) + 0.5) - 0.5, 0.0);
  }
  const int64_t lo = std::min(static_cast<int64_t>(at), in - 1);
  return {lo, std::min(lo + 1, in - 1), std::clamp(at - static_cast<double>(lo), 0.0, 1.0)};
}

// upsample_bilinear2d(input, output_size?, align_corners, scale_factors?)
Result<void> bilinear(Call& c) {
  const Tensor& x = c.in(0);
  const bool align = c.boolean(2);
  Tensor& out = c.out(4);
  EW_TRY(c.ok());
  if (!is_float(x.dtype) || x.dtype != out.dtype) return c.unsupported(x.dtype);
  EW_ASSIGN(const Upsample u, upsample_of(c, x, 1, 3));
  EW_TRY(resize_planes(c, out, x, u.h, u.w));
  const Planes px(x), po(out);
  planes(c, px, po, [&](int64_t from, int64_t to) {
    for (int64_t i = 0; i < po.h; ++i) {
      const Between v = between(i, px.h, po.h, u.scale_h, align);
      for (int64_t j = 0; j < po.w; ++j) {
        const Between q = between(j, px.w, po.w, u.scale_w, align);
        const auto get = [&](int64_t r, int64_t s) { return load_one<double>(x, from + r * px.sh + s * px.sw); };
        const double top = get(v.lo, q.lo) * (1 - q.share) + get(v.lo, q.hi) * q.share;
        const double bottom = get(v.hi, q.lo) * (1 - q.share) + get(v.hi, q.hi) * q.share;
        store_one<double>(out, to + i * po.sh + j * po.sw, top * (1 - v.share) + bottom * v.share);
      }
    }
  });
  return {};
}

constexpr Kernel kTable[] = {
    {"aten::_adaptive_avg_pool2d.out", adaptive_avg_pool}, {"aten::avg_pool2d.out", avg_pool},
    {"aten::max_pool2d_with_indices.out", max_pool},       {"aten::upsample_bilinear2d.vec_out", bilinear},
    {"aten::upsample_nearest2d.vec_out", nearest},
};
static_assert(sorted_by_name(kTable));

}  // namespace
const std::span<const Kernel> kPoolKernels = kTable;
}  // namespace edgewright::runtime
