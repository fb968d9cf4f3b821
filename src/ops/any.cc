// src/ops/any.cc - aten.any, aten.all: whether some or every element is not zero (NaN is not). A bool, for u8 a u8.
#include "ops/dense.h"

namespace edgewright::ops {
namespace {

Fold fold(bool all) {
  const auto test = [all](const auto& x) -> int64_t {
    for (auto v : x)
      if ((v != 0) != all) return !all;
    return all;
  };
  return Fold{}.ints([test](std::span<const int64_t> x) { return test(x); }).tests([test](std::span<const double> x) {
    return test(x);
  });
}
std::pair<DType, DType> dtypes(const Call& c) {
  const DType own = c.type(0).dtype;
  return {own, own == DType::u8 ? own : DType::b8};
}
OpDef definition(std::string schema, bool all, bool over_all, std::string stock) {
  return reduction({.schema = std::move(schema),
                    .dtypes = dtypes,
                    .fold = [all](const Call&) { return fold(all); },
                    .stock = std::move(stock),
                    .over_all = over_all});
}

}  // namespace

std::vector<OpDef> define_any() {
  std::vector<OpDef> r{
      definition("aten::any(Tensor self) -> Tensor", false, true, "aten::any.all_out"),
      definition("aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", false, false, "aten::any.out"),
      definition("aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", false, false,
                 "aten::any.dims_out"),
      definition("aten::all(Tensor self) -> Tensor", true, true, ""),
      definition("aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", true, false, ""),
      definition("aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", true, false, "")};
  // all(x) = not any(not x)
  for (size_t i = 3; i < 6; ++i)
    r[i].decompose = [](const ir::Node& n, Builder& b) {
      std::vector<ir::Arg> args = n.args();
      args[0] = b("aten.logical_not", {args[0]});
      std::string any = n.name();
      any.replace(any.find("all"), 3, "any");
      ir::Value* y = b("aten.logical_not", {b(any, args)});
      if (n.result()->tensor()->dtype == DType::u8) y = b("aten.to.dtype", {y, DType::u8});
      return b.done({y});
    };
  return r;
}
}  // namespace edgewright::ops
