// src/ops/cumsum.cc - running sums, products, maxima and minima along a dim. Depends on ops/families.h.
#include <algorithm>

#include "ops/families.h"
#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

// Ints and bools add up in i64 unless a dtype is asked for; the elements are cast to the dtype first.
DType sum_dtype(const Call& c) {
  const DType t = c.tensor("self").dtype;
  if (const auto asked = c.dtype("dtype")) return *asked;
  return is_float(t) ? t : DType::i64;
}
// [cumsum.1] A number dtype.
Result<Types> infer_types(const Call& c) {
  const DType t = sum_dtype(c);
  if (!is_number(t) || !is_number(c.tensor("self").dtype))
    c.error(fmt::format("[cumsum.1] {} as {}", name(c.tensor("self").dtype), name(t)));
  c.axis("dim", c.rank("self"));
  return Types{TensorType{t, c.tensor("self").shape}};
}
// Casts to the dtype summed in, then the fold in it.
template <bool kProduct>
Result<Point> eval(const Call& c, size_t) {
  const TensorType& self = c.tensor("self");
  const DType t = sum_dtype(c);
  const size_t rank = self.rank(), d = static_cast<size_t>(c.axis("dim", static_cast<int64_t>(rank)));
  if (is_float(t)) {
    return float_point([rank, d](const auto& in, Index at) {
      using R = typename std::decay_t<decltype(in)>::F;
      IndexBuffer x{};
      std::copy(at.begin(), at.end(), x.begin());
      const int64_t last = rank == 0 ? 0 : at[d];
      R r = kProduct ? R(1) : R(0);
      for (int64_t j = 0; j <= last; ++j) {
        x[d] = j;
        const R v = in.f(0, Index{x.data(), rank});
        r = j == 0 ? v : kProduct ? r * v : r + v;
      }
      return r;
    });
  }
  return int_point([rank, d, t, from_float = is_float(self.dtype)](const In& in, Index at) -> int64_t {
    IndexBuffer x{};
    std::copy(at.begin(), at.end(), x.begin());
    const int64_t last = rank == 0 ? 0 : at[d];
    int64_t r = kProduct ? 1 : 0;
    for (int64_t j = 0; j <= last; ++j) {
      x[d] = j;
      const Index here{x.data(), rank};
      const int64_t v = cast_i(t, from_float ? float_to_int(in.f(0, here)) : in.i(0, here));
      r = cast_i(t, kProduct ? wrap_mul(r, v) : wrap_add(r, v));
    }
    return r;
  });
}
// The tensor as [outer, n, inner].
struct Line {
  int64_t outer = 1, n = 1, inner = 1;
};
Line line_of(const Call& c, const ir::Tensor& t) {
  Line l;
  const size_t dim = static_cast<size_t>(c.axis("dim", static_cast<int64_t>(t.sizes.size())));
  for (size_t d = 0; d < t.sizes.size(); ++d) (d < dim ? l.outer : d == dim ? l.n : l.inner) *= t.sizes[d];
  return l;
}
template <bool kProduct, class T>
void accumulate(std::vector<T>& x, const Line& l, DType t) {
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t k = 1; k < l.n; ++k)
      for (int64_t i = 0; i < l.inner; ++i) {
        const size_t at = static_cast<size_t>((o * l.n + k) * l.inner + i), before = at - static_cast<size_t>(l.inner);
        if constexpr (std::is_same_v<T, double>)
          x[at] = kProduct ? x[before] * x[at] : x[before] + x[at];
        else
          x[at] = cast_i(t, kProduct ? wrap_mul(x[before], x[at]) : wrap_add(x[before], x[at]));
      }
}
template <bool kProduct>
Result<void> whole(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const DType t = out[0].dtype;
  const Line l = line_of(c, in[0]);
  if (is_float(t)) {
    std::vector<double> x = to_doubles(in[0]);
    for (double& v : x) v = cast_f(t, v);
    accumulate<kProduct>(x, l, t);
    store_block(t, out[0].mutable_data(), 0, static_cast<int64_t>(x.size()), x.data());
    return {};
  }
  std::vector<int64_t> x;
  if (is_float(in[0].dtype)) {
    for (double v : to_doubles(in[0])) x.push_back(cast_i(t, float_to_int(v)));
  } else {
    x = to_ints(in[0]);
    for (int64_t& v : x) v = cast_i(t, v);
  }
  accumulate<kProduct>(x, l, t);
  store_block(t, out[0].mutable_data(), 0, static_cast<int64_t>(x.size()), x.data());
  return {};
}

// --- cummax, cummin: values and where they were last seen (the later of equal ones; a NaN stays) ---
Result<Types> infer_extreme(const Call& c) {
  const TensorType& t = c.tensor("self");
  if (!is_number(t.dtype)) c.error(fmt::format("[cumsum.1] self is {}", name(t.dtype)));
  c.axis("dim", c.rank("self"));
  return Types{t, TensorType{DType::i64, t.shape}};
}
template <bool kMax, class T>
void extremes(std::vector<T>& x, std::vector<int64_t>& where, const Line& l) {
  for (int64_t o = 0; o < l.outer; ++o)
    for (int64_t k = 1; k < l.n; ++k)
      for (int64_t i = 0; i < l.inner; ++i) {
        const size_t at = static_cast<size_t>((o * l.n + k) * l.inner + i), before = at - static_cast<size_t>(l.inner);
        const T a = x[before], b = x[at];
        if (b != b || (a == a && (kMax ? b >= a : b <= a))) {
          where[at] = k;
        } else {
          x[at] = a;
          where[at] = where[before];
        }
      }
}
template <bool kMax>
Result<void> whole_extreme(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const Line l = line_of(c, in[0]);
  std::vector<int64_t> where(static_cast<size_t>(in[0].numel()), 0);
  const auto store = [&](const auto& x) {
    store_block(out[0].dtype, out[0].mutable_data(), 0, static_cast<int64_t>(x.size()), x.data());
  };
  if (is_float(in[0].dtype)) {
    auto x = to_doubles(in[0]);
    extremes<kMax>(x, where, l);
    store(x);
  } else {
    auto x = to_ints(in[0]);
    extremes<kMax>(x, where, l);
    store(x);
  }
  store_block(DType::i64, out[1].mutable_data(), 0, static_cast<int64_t>(where.size()), where.data());
  return {};
}

}  // namespace

std::vector<OpDef> define_cumsum() {
  OpDef sum, product, most, least;
  sum.schema_text = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor";
  sum.infer = product.infer = infer_types;
  sum.eval = eval<false>;
  sum.whole = whole<false>;
  sum.stock = "aten::cumsum.out";
  product.schema_text = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor";
  product.eval = eval<true>;
  product.whole = whole<true>;
  product.stock = "aten::cumprod.out";
  most.schema_text = "aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)";
  least.schema_text = "aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)";
  most.infer = least.infer = infer_extreme;
  most.whole = whole_extreme<true>;
  least.whole = whole_extreme<false>;
  most.stock = "aten::cummax.out";
  least.stock = "aten::cummin.out";
  return {sum, product, most, least};
}

}  // namespace edgewright::ops
