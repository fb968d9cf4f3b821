// src/ops/trailing.h - sums over neighbouring dims in XNNPACK, whose payload has products and poolings for it: shared by sum,
// mean, var and norms.
// Depends on ops/xnn_emitter.h.
#pragma once

#include "ops/xnn_emitter.h"

namespace edgewright::ops {

inline constexpr int64_t kMostSummed = 1 << 20;

// The last dims of a shape, all static, holding `count` elements; `rows` are the dims in front.
struct Trailing {
  Shape rows;
  int64_t count = 1;
};
// kKeptOnHost where `axes` are not the trailing ones, or are not static or empty.
inline Result<Trailing> trailing_of(const Shape& s, std::vector<int64_t> axes) {
  std::sort(axes.begin(), axes.end());
  Trailing t;
  const size_t first = s.size() - std::min(axes.size(), s.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<size_t>(axes[i]);
    if (d != first + i) return fail(Code::kKeptOnHost, "XNNPACK sums over trailing dims only");
    if (!s[d].is_constant()) return fail(Code::kKeptOnHost, "a summed dim is known only at run time");
    t.count *= s[d].value();
  }
  t.rows.assign(s.begin(), s.begin() + static_cast<ptrdiff_t>(first));
  if (axes.empty() || t.count < 1 || t.count > kMostSummed)
    return fail(Code::kKeptOnHost, "nothing or too much to sum");
  return t;
}
inline Shape with(const Shape& s, std::initializer_list<Dim> last) {
  Shape r = s;
  r.insert(r.end(), last);
  return r;
}

// XNNPACK adds up in one number, which loses digits that PyTorch's cascade keeps: long sums are made in two steps, the first
// over this many elements. 1: in one step.
inline int64_t first_step(int64_t count) {
  constexpr int64_t kShort = 256;
  if (count > kShort)
    for (int64_t d = kShort; d >= 8; --d)
      if (count % d == 0) return d;
  return 1;
}

// out = the mean or sum over `folded` dims from `first` on: one image per leading index, `count` pixels high, whose channels are
// the dims behind; pooled.
inline Result<void> pool_dims(XnnEmitter& e, const ir::Value* x, const ir::Value* out, size_t first, size_t folded,
                              bool is_mean) {
  const Shape& s = x->tensor()->shape;
  Dim outer = 1, inner = 1;
  int64_t count = 1;
  for (size_t d = 0; d < s.size(); ++d) {
    if (d < first) {
      outer = outer * s[d];
    } else if (d >= first + folded) {
      inner = inner * s[d];
    } else if (!s[d].is_constant()) {
      return fail(Code::kKeptOnHost, "a summed dim is known only at run time");
    } else {
      count *= s[d].value();
    }
  }
  if (count < 1 || count > kMostSummed) return fail(Code::kKeptOnHost, "nothing or too much to sum");
  const auto pool = [&](const ir::Value* v, const Dim& images, int64_t height) -> Result<const ir::Value*> {
    const Shape image{images, height, 1, inner}, pixel{images, 1, 1, inner};
    const ir::Value *from = e.temporary({DType::f32, image}), *to = e.temporary({DType::f32, pixel});
    EW_TRY(e.static_reshape(v, from, image));
    EW_TRY(e.global_avg_pool2d(from, to));
    return to;
  };
  const int64_t step = first_step(count);
  const ir::Value* mean = x;
  if (step > 1) {
    EW_ASSIGN(mean, pool(mean, outer * Dim(count / step), step));
  }
  EW_ASSIGN(mean, pool(mean, outer, count / step));
  if (!is_mean && count > 1) {
    const ir::Value* sum = e.temporary(*mean->tensor());
    EW_TRY(e.binary(XnnBinary::kMultiply, mean, static_cast<float>(count), sum));
    mean = sum;
  }
  return e.static_reshape(mean, out, out->tensor()->shape);
}

// out = the sum, or the mean, over the trailing dims, as a product with a column; `out` has as many elements as there are rows,
// in any shape.
inline Result<void> sum_trailing(XnnEmitter& e, const ir::Value* x, const ir::Value* out, const Trailing& t,
                                 bool is_mean) {
  const auto product = [&](const ir::Value* v, const Shape& rows, int64_t n,
                           const ir::Value* to) -> Result<const ir::Value*> {
    const Shape flat = with(rows, {n}), one = with(rows, {1});
    if (v->tensor()->shape != flat) {
      const ir::Value* r = e.temporary({DType::f32, flat});
      EW_TRY(e.static_reshape(v, r, flat));
      v = r;
    }
    const auto weight = static_cast<float>(is_mean ? 1 / static_cast<double>(n) : 1.0);
    const ir::Value* w = e.constant_f32(std::vector<float>(static_cast<size_t>(n), weight), {1, n});
    const ir::Value* y = to && to->tensor()->shape == one ? to : e.temporary({DType::f32, one});
    EW_TRY(e.fully_connected(v, w, nullptr, y, false));
    return y;
  };
  const int64_t step = t.rows.size() + 2 <= 6 ? first_step(t.count) : 1;
  const ir::Value* y = x;
  if (step > 1) {
    EW_ASSIGN(y, product(y, with(t.rows, {t.count / step}), step, nullptr));
  }
  EW_ASSIGN(y, product(y, t.rows, t.count / step, out));
  return y == out ? Result<void>{} : e.static_reshape(y, out, out->tensor()->shape);
}

// out = x - its mean, as `mean_of` makes it in the shape `one`. A second, small mean is taken off: where all of a row
// stands far from zero, the first is right to its own last digit only, which is a good part of the deviations.
inline Result<void> deviations(XnnEmitter& e, const ir::Value* x, const ir::Value* out, const TensorType& one,
                               const std::function<Result<void>(const ir::Value* v, const ir::Value* mean)>& mean_of) {
  const ir::Value *mean = e.temporary(one), *rest = e.temporary(one), *rough = e.temporary(*x->tensor());
  EW_TRY(mean_of(x, mean));
  EW_TRY(e.binary(XnnBinary::kSubtract, x, mean, rough));
  EW_TRY(mean_of(rough, rest));
  return e.binary(XnnBinary::kSubtract, rough, rest, out);
}

}  // namespace edgewright::ops
