// src/ops/scatter.cc - writes at places named per element: scatter, scatter_add, scatter_reduce. Depends on ops/scatter_rules.h.
#include "ops/scatter_rules.h"

namespace edgewright::ops {
namespace {

// [scatter.5] A reduction that exists.
Combine by_name(const Call& c, std::initializer_list<std::pair<const char*, Combine>> names) {
  const std::string r = c.str("reduce");
  for (const auto& [text, how] : names)
    if (r == text) return how;
  c.error(fmt::format("[scatter.5] reduction '{}'", r));
  return Combine::kAssign;
}
Combine old_name(const Call& c) { return by_name(c, {{"add", Combine::kSum}, {"multiply", Combine::kProd}}); }
Combine new_name(const Call& c) {
  return by_name(c, {{"sum", Combine::kSum},
                     {"prod", Combine::kProd},
                     {"mean", Combine::kMean},
                     {"amax", Combine::kMax},
                     {"amin", Combine::kMin}});
}
// A sum that includes self is scatter_add; other reductions have no simpler form.
Result<std::vector<ir::Value*>> as_add(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const std::string r = c.str("reduce");
  if ((r != "sum" && r != "add") || (c.op().schema.index_of("include_self") >= 0 && !c.flag("include_self")))
    return std::vector<ir::Value*>{};
  return all(b, {b("aten.scatter_add", {n.args()[0], n.args()[1], n.args()[2], n.args()[3]})});
}

}  // namespace

std::vector<OpDef> define_scatter() {
  OpDef reduce = scattering(
      "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
      [](const Call& c) { return Scatter{.combine = old_name(c)}; }, "aten::scatter.reduce_out");
  reduce.decompose = as_add;
  OpDef two = scattering(
      "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) "
      "-> Tensor",
      [](const Call& c) { return Scatter{.combine = new_name(c), .include_self = c.flag("include_self")}; },
      "aten::scatter_reduce.two_out");
  two.decompose = as_add;
  reduce.stock_limit =
      two.stock_limit = [](const ir::Node&) { return std::string("the stock runtime has no kernel for it"); };
  return {scattering(
              "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
              [](const Call&) { return Scatter{}; }, "aten::scatter.src_out"),
          scattering(
              "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
              [](const Call&) { return Scatter{.source = "value"}; }, "aten::scatter.value_out"),
          reduce,
          scattering(
              "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
              [](const Call& c) { return Scatter{.combine = old_name(c), .source = "value"}; },
              "aten::scatter.value_reduce_out"),
          scattering(
              "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
              [](const Call&) { return Scatter{.combine = Combine::kSum}; }, "aten::scatter_add.out"),
          two};
}

}  // namespace edgewright::ops
