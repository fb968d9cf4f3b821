// src/ops/row_norms.h - normalizing rows of numbers by their own statistics: layer_norm, group_norm, rms_norm.
// Depends on ops/dense.h, ops/trailing.h.
#pragma once

#include "ops/dense.h"
#include "ops/trailing.h"

namespace edgewright::ops {

// Mean (0 where `centered` is false) and 1 / sqrt(mean square deviation + eps) of a row.
template <class R>
std::pair<R, R> row_statistics(std::span<const R> x, double eps, bool centered) {
  const R n(static_cast<double>(x.size()));
  R mean(0.0);
  if (centered) {
    Sum<R> s;
    for (const R& v : x) s.add(v);
    mean = s.get() / n;
  }
  Sum<R> squares;
  for (const R& v : x) {
    const R d = centered ? v - mean : v;
    squares.add(d * d);
  }
  return {mean, num::rsqrt(squares.get() / n + R(eps))};
}

// Emits (x - mean) * rsqrt(mean of squares + eps) [* weight] [+ bias] over the trailing dims, into `out`.
inline Result<void> lower_row_norm(XnnEmitter& e, const ir::Value* x, const ir::Value* weight, const ir::Value* bias,
                                   const ir::Value* out, const Trailing& t, double eps, bool centered) {
  const TensorType full{DType::f32, x->tensor()->shape};
  // Statistics keep the row dims and have 1 in place of each normalized one, so that they broadcast.
  TensorType one = full;
  for (size_t d = t.rows.size(); d < one.shape.size(); ++d) one.shape[d] = 1;
  const auto mean_of = [&](const ir::Value* v, const ir::Value* m) { return sum_trailing(e, v, m, t, true); };
  const ir::Value* centred = x;
  if (centered) {
    const ir::Value* d = e.temporary(full);
    EW_TRY(deviations(e, x, d, one, mean_of));
    centred = d;
  }
  const ir::Value* squares = e.temporary(full);
  EW_TRY(e.unary(XnnUnary::kSquare, centred, squares));
  const ir::Value* var = e.temporary(one);
  EW_TRY(mean_of(squares, var));
  const ir::Value *shifted = e.temporary(one), *scale = e.temporary(one);
  EW_TRY(e.binary(XnnBinary::kAdd, var, static_cast<float>(eps), shifted));
  EW_TRY(e.unary(XnnUnary::kReciprocalSquareRoot, shifted, scale));
  const ir::Value* y = weight || bias ? e.temporary(full) : out;
  EW_TRY(e.binary(XnnBinary::kMultiply, centred, scale, y));
  if (weight) {
    const ir::Value* z = bias ? e.temporary(full) : out;
    EW_TRY(e.binary(XnnBinary::kMultiply, y, weight, z));
    y = z;
  }
  return bias ? e.binary(XnnBinary::kAdd, y, bias, out) : Result<void>{};
}

}  // namespace edgewright::ops
