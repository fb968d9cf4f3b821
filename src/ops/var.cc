// src/ops/var.cc - aten.var, std, var_mean, std_mean: the mean square deviation with a correction to the count.
#include "ops/dense.h"
#include "ops/xnn_sums.h"

namespace edgewright::ops {
namespace {

enum class Kind : uint8_t { kVar, kStd, kMean };

double correction_of(const Call& c) {
  const auto& s = c.op().schema;
  if (s.index_of("unbiased") >= 0) return c.flag("unbiased") ? 1 : 0;
  return c.has("correction") ? c.f("correction") : 1;
}

Fold fold(Kind kind, double correction) {
  return Fold{}.floats([=]<class R>(std::span<const R> x) -> R {
    const double n = static_cast<double>(x.size());
    Sum<R> s;
    for (const R& v : x) s.add(v);
    const R mean = s.get() / R(n);
    if (kind == Kind::kMean) return mean;
    Sum<R> squares;
    for (const R& v : x) squares.add((v - mean) * (v - mean));
    // Nothing has no deviation, whatever the correction.
    const R var = n == 0 ? R(NAN) : squares.get() / R(std::max(0.0, n - correction));
    return kind == Kind::kVar ? var : num::sqrt(var);
  });
}

// In two passes: the mean, then the mean of the squared deviations.
Result<void> lower(const std::vector<Kind>& kinds, const ir::Node& n, XnnEmitter& e) {
  const Call c = Call::of(n);
  const FoldedDims dims = dims_of(c);
  const double correction = correction_of(c);
  const ir::Value* x = n.arg("self").value();
  const TensorType full = *x->tensor();
  if (c.failed()) return fail(Code::kKeptOnHost, "{}", *c.failed());
  TensorType one = full;
  double count = 1;
  for (int64_t d : dims.folded) {
    Dim& s = one.shape[static_cast<size_t>(d)];
    if (!s.is_constant()) return fail(Code::kKeptOnHost, "a summed dim is known only at run time");
    count *= static_cast<double>(s.value());
    s = 1;
  }
  if (!(count > correction)) return fail(Code::kKeptOnHost, "no degree of freedom is left");
  const ir::Value *deviation = e.temporary(full), *squares = e.temporary(full);
  const auto mean_of = [&](const ir::Value* v, const ir::Value* m) { return sum_over(e, v, m, dims.folded, true); };
  EW_TRY(deviations(e, x, deviation, one, mean_of));
  EW_TRY(e.unary(XnnUnary::kSquare, deviation, squares));
  for (size_t r = 0; r < kinds.size(); ++r) {
    const ir::Value* y = n.result(r);
    if (is_unused(n, r) && kinds.size() > 1) continue;
    if (kinds[r] == Kind::kMean) {
      EW_TRY(mean_of(x, y));
      continue;
    }
    const auto next = [&](bool last) { return last ? y : e.temporary(*y->tensor()); };
    const bool scaled = correction != 0, rooted = kinds[r] == Kind::kStd;
    const ir::Value* at = next(!scaled && !rooted);
    EW_TRY(sum_over(e, squares, at, dims.folded, true));
    if (scaled) {
      const ir::Value* z = next(!rooted);
      EW_TRY(e.binary(XnnBinary::kMultiply, at, static_cast<float>(count / (count - correction)), z));
      at = z;
    }
    if (rooted) EW_TRY(e.unary(XnnUnary::kSquareRoot, at, y));
  }
  return {};
}

OpDef definition(std::string schema, std::vector<Kind> kinds, std::string stock = "") {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = [kinds](const Call& c) -> Result<Types> {
    const TensorType& t = c.tensor("self");
    if (!is_float(t.dtype)) c.error(fmt::format("[var.1] not defined on {}", name(t.dtype)));
    const FoldedDims dims = dims_of(c);
    if (c.failed()) return Types{};
    return Types(kinds.size(), TensorType{t.dtype, dims.shape(t.shape)});
  };
  d.eval = [kinds](const Call& c, size_t r) {
    return fold_point(c, dims_of(c), fold(kinds[r], correction_of(c)), c.type(0).dtype, c.type(0).dtype);
  };
  d.whole = [kinds](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    for (size_t r = 0; r < kinds.size(); ++r)
      fold_whole(dims_of(c), fold(kinds[r], correction_of(c)), c.type(0).dtype, in[0], out[r]);
    return {};
  };
  d.stock = std::move(stock);
  d.agreement = Agreement::kReassociated;
  d.lower = [kinds](const ir::Node& n, XnnEmitter& e) { return lower(kinds, n, e); };
  // In means, for where neither XNNPACK nor the stock runtime has it: the count is known, the correction a constant.
  d.decompose = [kinds](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const Call c = Call::of(n);
    const FoldedDims dims = dims_of(c);
    const double correction = correction_of(c);
    double count = 1;
    for (int64_t d : dims.folded) {
      const Dim& s = c.type(0).shape[static_cast<size_t>(d)];
      if (!s.is_constant()) return std::vector<ir::Value*>{};
      count *= static_cast<double>(s.value());
    }
    if (c.failed()) return std::vector<ir::Value*>{};
    const ir::Arg axes = ir::Arg::ints(dims.folded);
    ir::Value* x = n.arg("self").value();
    ir::Value* mean = b("aten.mean.dim", {x, axes, true});
    ir::Value* deviation = b("aten.sub.Tensor", {x, mean});
    ir::Value* var = b("aten.mean.dim", {b("aten.mul.Tensor", {deviation, deviation}), axes, dims.keepdim});
    // Without a degree of freedom left, the factor is infinite: no deviation gives NaN.
    if (correction != 0) var = b("aten.mul.Scalar", {var, count / std::max(0.0, count - correction)});
    std::vector<ir::Value*> out;
    for (Kind k : kinds) {
      if (k == Kind::kMean)
        out.push_back(dims.keepdim ? mean : b("aten.squeeze.dims", {mean, axes}));
      else
        out.push_back(k == Kind::kVar ? var : b("aten.sqrt", {var}));
    }
    return b.done(out);
  };
  return d;
}

}  // namespace

std::vector<OpDef> define_var() {
  std::vector<OpDef> all;
  const auto family = [&](std::string op, std::vector<Kind> kinds, bool has_stock) {
    const std::string result = kinds.size() == 2 ? "(Tensor, Tensor)" : "Tensor";
    all.push_back(definition("aten::" + op + "(Tensor self, bool unbiased=True) -> " + result, kinds));
    all.push_back(definition(
        "aten::" + op + ".dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> " + result, kinds,
        op == "var" ? "aten::var.out" : ""));
    all.push_back(definition(
        "aten::" + op +
            ".correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> " + result,
        kinds, has_stock ? "aten::" + op + ".correction_out" : ""));
  };
  family("var", {Kind::kVar}, true);
  family("std", {Kind::kStd}, false);
  family("var_mean", {Kind::kVar, Kind::kMean}, true);
  family("std_mean", {Kind::kStd, Kind::kMean}, false);
  return all;
}
}  // namespace edgewright::ops
