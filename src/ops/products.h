// src/ops/products.h - batched matrix products: the one meaning behind mm, bmm, addmm, linear, matmul and their kin.
// Depends on ops/dense.h.
#pragma once

#include "ops/dense.h"

namespace edgewright::ops {

// out = alpha * (a @ b) + beta * add, where beta == 0 means that `add` is not read at all.
struct Affine {
  Scalar alpha{ir::ScalarKind::kInt, 1, 1}, beta{ir::ScalarKind::kInt, 0, 0};
  // For result dtype `t`, the sum of products and the added element.
  template <class R>
  R apply(DType t, R sum, R add) const {
    const auto scaled = [&](const Scalar& s, R x) -> R {
      if (s.f == 1) return x;
      if constexpr (std::is_same_v<R, int64_t>)
        return wrap_mul(s.i, x);
      else
        return R(scalar_for(t, s.f)) * x;
    };
    const R r = scaled(alpha, sum);
    return beta.f == 0 ? r : plus(r, scaled(beta, add));
  }
};

// One factor of a contraction, or its added tensor: for each of its dims the result's dim that indexes it, inner dim j as
// ~j, or kFirst for a size-1 dim that broadcasts. Two dims of one factor may share an index (a diagonal).
struct Side {
  static constexpr int kFirst = INT32_MIN;
  int operand = -1;
  std::vector<int> from;
};
// result[at] = alpha * (sum over the inner dims of a * b) + beta * add: concrete sizes.
struct Contraction {
  DType dtype = DType::f32;  // of the result
  Side a, b;
  std::vector<int64_t> inner;  // sizes
  std::optional<Side> add;
  Affine f;
  double min = -INFINITY, max = INFINITY;  // the result is clamped to these (floats only)
};
Point contraction_point(const Contraction& c);
// Computes in double or in wrapping int64. `out` is contiguous.
void contraction_whole(const Contraction& c, std::span<const ir::Tensor> in, ir::Tensor& out);
// The definition: schema, infer, eval, whole.
OpDef contraction(std::string schema, std::function<Result<Types>(const Call&)> infer,
                  std::function<Contraction(const Call&)> make, std::string stock = "");
// The side of an operand that broadcasts, right-aligned, against the result.
Side broadcast_side(const Call& c, int operand, size_t result_rank);

// Rules shared by all: dtypes equal, float or int; inner sizes equal. Record errors on the call.
void check_product(const Call& c, const TensorType& a, const TensorType& b, const Dim& inner_a, const Dim& inner_b);

}  // namespace edgewright::ops
