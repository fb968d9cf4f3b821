// src/ops/amax.cc - aten.amax, amin, aminmax, max, min (with and without positions), argmax, argmin.
#include "ops/dense.h"
#include "ops/extremes.h"

namespace edgewright::ops {
namespace {

Fold value_fold(bool largest) {
  return Fold{}
      .floats([largest]<class R>(std::span<const R> x) { return extreme(x, largest); })
      .ints([largest](std::span<const int64_t> x) { return extreme(x, largest); });
}
Fold position_fold(bool largest) {
  return Fold{}
      .ints([largest](std::span<const int64_t> x) { return static_cast<int64_t>(extreme_at(x, largest)); })
      .tests([largest](std::span<const double> x) { return static_cast<int64_t>(extreme_at(x, largest)); });
}

// An empty run has no extreme.
void check(const Call& c, const FoldedDims& dims) {
  const Shape& s = c.type(0).shape;
  if (!is_number(c.type(0).dtype)) c.error(fmt::format("[amax.1] not defined on {}", name(c.type(0).dtype)));
  for (int64_t d : dims.folded)
    if (s[static_cast<size_t>(d)] == Dim(0)) c.error(fmt::format("[amax.2] dim {} is empty", d));
}

// `kinds`: what each result is.
enum class Kind : uint8_t { kLargest, kSmallest, kLargestAt, kSmallestAt };
Fold fold_of(Kind k) {
  const bool largest = k == Kind::kLargest || k == Kind::kLargestAt;
  return k == Kind::kLargest || k == Kind::kSmallest ? value_fold(largest) : position_fold(largest);
}
DType result_of(Kind k, DType own) { return k == Kind::kLargest || k == Kind::kSmallest ? own : DType::i64; }

OpDef definition(std::string schema, std::vector<Kind> kinds, std::string stock = "") {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = [kinds](const Call& c) -> Result<Types> {
    const FoldedDims dims = dims_of(c);
    if (!c.failed()) check(c, dims);
    if (c.failed()) return Types{};
    Types t;
    for (Kind k : kinds) t.push_back(TensorType{result_of(k, c.type(0).dtype), dims.shape(c.type(0).shape)});
    return t;
  };
  d.eval = [kinds](const Call& c, size_t r) {
    return fold_point(c, dims_of(c), fold_of(kinds[r]), c.type(0).dtype, result_of(kinds[r], c.type(0).dtype));
  };
  d.whole = [kinds](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    for (size_t r = 0; r < kinds.size(); ++r) fold_whole(dims_of(c), fold_of(kinds[r]), c.type(0).dtype, in[0], out[r]);
    return {};
  };
  d.stock = std::move(stock);
  return d;
}

OpDef other(std::string schema, Formula f, std::string twin) {
  OpDef d = binary(std::move(schema), f);
  d.decompose = [twin](const ir::Node& n, Builder& b) { return b.done({b(twin, {n.arg("self"), n.arg("other")})}); };
  return d;
}

}  // namespace

std::vector<OpDef> define_amax() {
  using K = Kind;
  const auto amax = [](auto a, auto b) { return num::maximum(a, b); };
  const auto amin = [](auto a, auto b) { return num::minimum(a, b); };
  OpDef aminmax =
      definition("aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
                 {K::kSmallest, K::kLargest});
  aminmax.decompose = [](const ir::Node& n, Builder& b) {
    const ir::Arg dims = n.arg("dim").is_none() ? ir::Arg::ints({}) : ir::Arg(ir::ArgList{n.arg("dim")});
    return b.done({b("aten.amin", {n.arg("self"), dims, n.arg("keepdim")}),
                   b("aten.amax", {n.arg("self"), dims, n.arg("keepdim")})});
  };
  return {definition("aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", {K::kLargest},
                     "aten::amax.out"),
          definition("aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", {K::kSmallest},
                     "aten::amin.out"),
          aminmax,
          definition("aten::max(Tensor self) -> Tensor", {K::kLargest}, "aten::max.unary_out"),
          definition("aten::min(Tensor self) -> Tensor", {K::kSmallest}, "aten::min.unary_out"),
          definition("aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
                     {K::kLargest, K::kLargestAt}, "aten::max.dim_max"),
          definition("aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
                     {K::kSmallest, K::kSmallestAt}, "aten::min.dim_min"),
          definition("aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", {K::kLargestAt},
                     "aten::argmax.out"),
          definition("aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", {K::kSmallestAt},
                     "aten::argmin.out"),
          other("aten::max.other(Tensor self, Tensor other) -> Tensor", floats<2>(amax).ints<2>(amax), "aten.maximum"),
          other("aten::min.other(Tensor self, Tensor other) -> Tensor", floats<2>(amin).ints<2>(amin), "aten.minimum")};
}
}  // namespace edgewright::ops
