// src/ops/trailing.h - sums over trailing dims in XNNPACK, which has no reductions but products: shared by sum, mean, norms.
// Depends on ops/xnn_emitter.h.
#pragma once

#include "ops/xnn_emitter.h"

namespace edgewright::ops {

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
  if (axes.empty() || t.count < 1 || t.count > (1 << 20)) return fail(Code::kKeptOnHost, "nothing or too much to sum");
  return t;
}
inline Shape with(const Shape& s, int64_t last) {
  Shape r = s;
  r.push_back(last);
  return r;
}

// out = weight * the sum over the trailing dims; `out` has as many elements as there are rows, in any shape.
inline Result<void> sum_trailing(XnnEmitter& e, const ir::Value* x, const ir::Value* out, const Trailing& t,
                                 float weight) {
  const Shape flat = with(t.rows, t.count), one = with(t.rows, 1);
  if (x->tensor()->shape != flat) {
    const ir::Value* r = e.temporary({DType::f32, flat});
    EW_TRY(e.static_reshape(x, r, flat));
    x = r;
  }
  const ir::Value* w = e.constant_f32(std::vector<float>(static_cast<size_t>(t.count), weight), {1, t.count});
  if (out->tensor()->shape == one) return e.fully_connected(x, w, nullptr, out, false);
  const ir::Value* y = e.temporary({DType::f32, one});
  EW_TRY(e.fully_connected(x, w, nullptr, y, false));
  return e.static_reshape(y, out, out->tensor()->shape);
}

}  // namespace edgewright::ops
