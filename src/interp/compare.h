// src/interp/compare.h - whether two tensors agree, and by how much they differ. Depends on ir.
#pragma once

#include "ir/tensor.h"
#include "ir/type.h"

namespace edgewright::interp {

struct Tolerance {
  double atol = 0, rtol = 0;
};
// 1e-4 for f32 and f64, 5e-3 for f16, 2e-2 for bf16, exact for everything else.
Tolerance default_tolerance(DType t);

struct Comparison {
  std::string mismatch;        // why the two cannot be compared (dtype, shape); empty if they can
  int64_t elements = 0;        // compared; a complex number counts as two
  int64_t different = 0;       // beyond the tolerance
  std::vector<int64_t> first;  // index of the first of them
  double first_a = 0, first_b = 0;
  double max_abs = 0, max_rel = 0;  // over pairs of finite numbers; relative to |b|, where b is not 0
  double sqnr_db = 0;  // 10 log10(sum b^2 / sum (a-b)^2) over finite pairs; infinite where there is no error
  bool agrees() const { return mismatch.empty() && different == 0; }
  // "equal", "max abs 1e-6, max rel 2e-5, SQNR 120 dB", "3 of 24 differ, first at [0,1]: 1.5 against 2, ...".
  std::string str() const;
};
// |a - b| <= atol + rtol |b| for floats; NaN equals NaN, infinities their like; other dtypes must be equal.
Comparison compare(const ir::Tensor& a, const ir::Tensor& b, Tolerance t);

}  // namespace edgewright::interp
