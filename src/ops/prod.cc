// src/ops/prod.cc - aten.prod: over one dim or all.
#include "ops/dense.h"

namespace edgewright::ops {
namespace {

Fold fold(const Call&) {
  return Fold{}
      .floats([]<class R>(std::span<const R> x) {
        R p = 1;
        for (const R& v : x) p = p * v;
        return p;
      })
      .ints([](std::span<const int64_t> x) {
        int64_t p = 1;
        for (int64_t v : x) p = wrap_mul(p, v);
        return p;
      });
}
std::pair<DType, DType> dtypes(const Call& c) {
  const DType own = c.type(0).dtype;
  const DType t = c.dtype("dtype").value_or(is_float(own) ? own : DType::i64);
  return {t, t};
}

}  // namespace

std::vector<OpDef> define_prod() {
  return {reduction({.schema = "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                     .dtypes = dtypes,
                     .fold = fold,
                     .stock = "aten::prod.out",
                     .over_all = true}),
          reduction(
              {.schema =
                   "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
               .dtypes = dtypes,
               .fold = fold,
               .stock = "aten::prod.int_out"})};
}
}  // namespace edgewright::ops
