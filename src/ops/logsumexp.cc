// src/ops/logsumexp.cc - aten.logsumexp: log of the sum of exponentials, shifted by the largest so that it does not overflow.
#include "ops/dense.h"
#include "ops/extremes.h"

namespace edgewright::ops {
namespace {

Fold fold(const Call&) {
  return Fold{}.floats([]<class R>(std::span<const R> x) -> R {
    if (x.empty()) return R(-INFINITY);
    const double largest = num::value(extreme(x, true));
    // Any shift gives the same real number; an infinite one would not.
    const R shift = R(std::isinf(largest) ? 0 : largest);
    Sum<R> s;
    for (const R& v : x) s.add(num::exp(v - shift));
    return num::log(s.get()) + shift;
  });
}
std::pair<DType, DType> dtypes(const Call& c) {
  const DType own = c.type(0).dtype, t = is_float(own) ? own : kDefaultFloat;
  return {t, t};
}
Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const FoldedDims dims = dims_of(c);
  if (c.failed() || dims.folded.empty()) return std::vector<ir::Value*>{};
  ir::Value* x = n.arg("self").value();
  if (!is_float(x->tensor()->dtype)) x = b("aten.to.dtype", {x, kDefaultFloat});
  const ir::Arg axes = ir::Arg::ints(dims.folded);
  ir::Value* largest = b("aten.amax", {x, axes, true});
  ir::Value* shift =
      b("aten.masked_fill.Scalar", {largest, b("aten.eq.Scalar", {b("aten.abs", {largest}), INFINITY}), 0});
  ir::Value* sum = b("aten.sum.dim_IntList", {b("aten.exp", {b("aten.sub.Tensor", {x, shift})}), axes, dims.keepdim});
  if (!dims.keepdim) shift = b("aten.squeeze.dims", {shift, axes});
  return b.done({b("aten.add.Tensor", {b("aten.log", {sum}), shift})});
}

}  // namespace

std::vector<OpDef> define_logsumexp() {
  OpDef d = reduction({.schema = "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
                       .dtypes = dtypes,
                       .fold = fold,
                       .stock = ""});
  d.decompose = decompose;
  d.agreement = Agreement::kReassociated;
  return {d};
}
}  // namespace edgewright::ops
