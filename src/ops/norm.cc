// src/ops/norm.cc - aten.linalg_vector_norm and aten.norm: p-norms over some or all dims.
#include "ops/p_norm.h"

namespace edgewright::ops {
namespace {

// The order: "ord" or "p"; None is 2.
double order(const Call& c) {
  const char* param = c.op().schema.index_of("ord") >= 0 ? "ord" : "p";
  return c.has(param) ? c.f(param) : 2;
}

Fold fold(const Call& c) {
  const double p = order(c);
  return Fold{}.floats([p]<class R>(std::span<const R> x) { return p_norm(x, p); });
}
std::pair<DType, DType> dtypes(const Call& c) {
  const DType own = c.type(0).dtype;
  const DType t = c.op().schema.index_of("dtype") >= 0 ? c.dtype("dtype").value_or(own) : own;
  if (!is_float(t) || !is_float(own)) c.error(fmt::format("[norm.1] not defined on {}", name(own)));
  const double p = order(c);
  if (std::isinf(p))
    for (int64_t d : dims_of(c).folded)
      if (c.type(0).shape[static_cast<size_t>(d)] == Dim(0)) c.error("[norm.2] an infinite norm over an empty dim");
  return {t, t};
}

Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const auto [t, result] = dtypes(c);
  const double p = order(c);
  const FoldedDims dims = dims_of(c);
  if (c.failed()) return fail(Code::kInternal, "{}: {}", n.name(), *c.failed());
  ir::Value* x = n.arg("self").value();
  if (x->tensor()->dtype != t) x = b("aten.to.dtype", {x, t});
  const ir::Arg axes = ir::Arg::ints(dims.folded);
  const bool alone = dims.folded.empty();  // each element is a sum of its own
  const auto sum = [&](ir::Value* v) { return alone ? v : b("aten.sum.dim_IntList", {v, axes, dims.keepdim}); };
  if (alone && p != 0) return b.done({b("aten.abs", {x})});
  if (std::isinf(p)) return b.done({b(p > 0 ? "aten.amax" : "aten.amin", {b("aten.abs", {x}), axes, dims.keepdim})});
  if (p == 0) return b.done({sum(b("aten.to.dtype", {b("aten.ne.Scalar", {x, 0}), t}))});
  if (p == 1) return b.done({sum(b("aten.abs", {x}))});
  if (p == 2) return b.done({b("aten.sqrt", {sum(b("aten.mul.Tensor", {x, x}))})});
  return b.done({b("aten.pow.Tensor_Scalar", {sum(b("aten.pow.Tensor_Scalar", {b("aten.abs", {x}), p})), 1 / p})});
}

}  // namespace

std::vector<OpDef> define_norm() {
  std::vector<OpDef> all;
  const auto add = [&](const char* schema, bool over_all) {
    OpDef d = reduction({.schema = schema, .dtypes = dtypes, .fold = fold, .stock = "", .over_all = over_all});
    d.decompose = decompose;
    d.agreement = Agreement::kReassociated;
    all.push_back(std::move(d));
  };
  add("aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
      "dtype=None) -> Tensor",
      false);
  add("aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", true);
  add("aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", false);
  add("aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
      false);
  add("aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", true);
  return all;
}
}  // namespace edgewright::ops
