// src/ops/index_add.cc - whole slices written along a dim: index_add, index_copy, index_fill. Depends on ops/scatter_rules.h.
//
// Where XNNPACK and the stock runtime have nothing, all are an index_put with the index in the dim's place.
#include "ops/scatter_rules.h"

namespace edgewright::ops {
namespace {

Result<std::vector<ir::Value*>> put(const ir::Node& n, Builder& b, ir::Value* values, bool accumulate) {
  ir::Value *x = self_of(n), *index = n.args()[2].value();
  if (b.failed() || rank_of(x) == 0) return std::vector<ir::Value*>{};
  ir::ArgList indices(static_cast<size_t>(Call::of(n).axis("dim", rank_of(x))));
  if (rank_of(index) == 0) index = b("aten.view", {index, ir::Arg::ints({1})});
  indices.push_back(index);
  return all(b, {b("aten.index_put", {x, std::move(indices), values, accumulate})});
}
Result<std::vector<ir::Value*>> copy_as_put(const ir::Node& n, Builder& b) {
  return put(n, b, n.args()[3].value(), false);
}
Result<std::vector<ir::Value*>> add_as_put(const ir::Node& n, Builder& b) {
  ir::Value* source = n.args()[3].value();
  const ir::Arg alpha = n.arg("alpha");
  if (is_bool(source->tensor()->dtype)) return std::vector<ir::Value*>{};
  if (!(alpha.i() && *alpha.i() == 1)) source = b("aten.mul.Scalar", {source, alpha});
  return put(n, b, source, true);
}
// [index_fill.1] A tensor value has no dims. index_put wants values of self's dtype.
Result<std::vector<ir::Value*>> fill_as_put(const ir::Node& n, Builder& b) {
  const DType t = self_of(n)->tensor()->dtype;
  if (ir::Value* v = n.args()[3].value(); v && v->tensor()) {
    if (v->tensor()->dtype != t) return std::vector<ir::Value*>{};
    return put(n, b, v, false);
  }
  const Call c = Call::of(n);
  const Scalar s = as_element(t, c.scalar("value"));
  if (c.failed() || !is_number(t)) return std::vector<ir::Value*>{};
  ir::Tensor x = ir::Tensor::empty(t, {});
  if (is_float(t))
    ir::store_f(t, x.mutable_data(), 0, s.f);
  else
    ir::store_i(t, x.mutable_data(), 0, s.i);
  return put(n, b, b.constant(std::move(x), "fill"), false);
}

}  // namespace

std::vector<OpDef> define_index_add() {
  OpDef add =
      scattering("aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
                 [](const Call&) {
                   return Scatter{.combine = Combine::kSum, .source = "source", .alpha = "alpha", .index_is_1d = true};
                 });
  add.decompose = add_as_put;
  OpDef copy = scattering("aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
                          [](const Call&) { return Scatter{.source = "source", .index_is_1d = true}; });
  copy.decompose = copy_as_put;
  const auto fill = [](const Call&) { return Scatter{.source = "value", .index_is_1d = true, .negative = true}; };
  OpDef by_number =
      scattering("aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", fill);
  by_number.decompose = fill_as_put;
  OpDef by_tensor =
      scattering("aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", fill);
  by_tensor.decompose = fill_as_put;
  by_tensor.infer = [infer = by_tensor.infer](const Call& c) {
    if (c.tensor("value").rank() != 0)
      c.error(fmt::format("[index_fill.1] value has {} dims, not 0", c.tensor("value").rank()));
    if (c.tensor("value").dtype != c.tensor("self").dtype)
      c.error(fmt::format("[index_fill.2] value is {}, self {}", name(c.tensor("value").dtype),
                          name(c.tensor("self").dtype)));
    return infer(c);
  };
  return {add, copy, by_number, by_tensor};
}

}  // namespace edgewright::ops
