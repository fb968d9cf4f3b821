// src/ops/sum.cc - aten.sum, aten.mean: over some or all dims.
#include "ops/dense.h"
#include "ops/xnn_sums.h"

namespace edgewright::ops {
namespace {

Fold sum_fold(const Call&) {
  return Fold{}
      .floats([]<class R>(std::span<const R> x) {
        Sum<R> s;
        for (const R& v : x) s.add(v);
        return s.get();
      })
      .ints([](std::span<const int64_t> x) {
        Sum<int64_t> s;
        for (int64_t v : x) s.add(v);
        return s.get();
      });
}
Fold mean_fold(const Call&) {
  Fold f;
  f.f = [](std::span<const double> x) {
    double s = 0;
    for (double v : x) s += v;
    return s / static_cast<double>(x.size());
  };
  // Also where every term is scaled before the sum, as a product with a row of 1/n does it.
  f.bounded = [](std::span<const Bounded> x) {
    if (x.empty()) return Bounded(NAN, INFINITY);
    const double part = 1 / static_cast<double>(x.size());
    Sum<Bounded> s;
    for (Bounded v : x) s.add(v * Bounded(part, Bounded::u * part));
    return s.get();
  };
  return f;
}

std::pair<DType, DType> sum_dtypes(const Call& c) {
  const DType own = c.type(0).dtype;
  const DType t = c.dtype("dtype").value_or(is_float(own) ? own : DType::i64);
  return {t, t};
}
std::pair<DType, DType> mean_dtypes(const Call& c) {
  const DType t = c.dtype("dtype").value_or(c.type(0).dtype);
  if (!is_float(t)) c.error(fmt::format("[mean.1] the mean of {} needs a float dtype", name(t)));
  return {t, t};
}

Result<void> lower(const ir::Node& n, XnnEmitter& out, bool is_mean) {
  const Call c = Call::of(n);
  const FoldedDims dims = dims_of(c);
  if (c.dtype("dtype").value_or(DType::f32) != DType::f32 || c.failed())
    return fail(Code::kKeptOnHost, "the result is not f32");
  return sum_over(out, n.arg("self").value(), n.result(), dims.folded, is_mean);
}

Result<std::vector<ir::Value*>> over_all(const ir::Node& n, Builder& b, const char* op) {
  return b.done({b(op, {n.arg("self"), ir::Arg::ints({}), false, n.arg("dtype")})});
}

}  // namespace

std::vector<OpDef> define_sum() {
  OpDef sum_dim = reduction(
      {.schema =
           "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       .dtypes = sum_dtypes,
       .fold = sum_fold,
       .stock = "aten::sum.IntList_out"});
  OpDef mean_dim = reduction(
      {.schema = "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       .dtypes = mean_dtypes,
       .fold = mean_fold,
       .stock = "aten::mean.out"});
  OpDef sum = reduction({.schema = "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                         .dtypes = sum_dtypes,
                         .fold = sum_fold,
                         .stock = "",
                         .over_all = true});
  OpDef mean = reduction({.schema = "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
                          .dtypes = mean_dtypes,
                          .fold = mean_fold,
                          .stock = "",
                          .over_all = true});
  sum_dim.lower = [](const ir::Node& n, XnnEmitter& out) { return lower(n, out, false); };
  mean_dim.lower = [](const ir::Node& n, XnnEmitter& out) { return lower(n, out, true); };
  sum.decompose = [](const ir::Node& n, Builder& b) { return over_all(n, b, "aten.sum.dim_IntList"); };
  mean.decompose = [](const ir::Node& n, Builder& b) { return over_all(n, b, "aten.mean.dim"); };
  std::vector<OpDef> all{sum_dim, mean_dim, sum, mean};
  for (OpDef& d : all) d.agreement = Agreement::kReassociated;
  return all;
}
}  // namespace edgewright::ops
