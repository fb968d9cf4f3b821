// src/ops/reshape.cc - a view where strides allow it, a copy elsewhere (which of them: reshape_is_view). Depends on ops/view_rules.h.
//
// view_of is set, for the result may alias; whoever tracks aliases asks reshape_is_view. As values both are aten.view.
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {
std::vector<Layout> by_shape(const Call& c, const Layout& base) {
  return {reshaped(base, resolve_sizes(c, base.sizes, c.dims("shape")))};
}
std::vector<Layout> by_size(const Call& c, const Layout& base) {
  return {reshaped(base, resolve_sizes(c, base.sizes, c.dims("size")))};
}
std::vector<Layout> by_other(const Call& c, const Layout& base) {
  return {reshaped(base, resolve_sizes(c, base.sizes, c.tensor("other").shape))};
}
}  // namespace

std::vector<OpDef> define_reshape() {
  OpDef reshape = view_op("aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", by_shape, scatter_reshaped);
  reshape.decompose = becomes("aten.view");
  OpDef reshape_as = view_op("aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", by_other, scatter_reshaped);
  reshape_as.decompose = becomes("aten.view", [](const ir::Node& n, Builder& b) -> std::vector<ir::Arg> {
    return {n.args()[0], size_args(b, n.args()[1].value())};
  });
  OpDef alias = view_op("aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", by_size,
                        scatter_reshaped);
  alias.decompose = becomes(
      "aten.view", [](const ir::Node& n, Builder&) -> std::vector<ir::Arg> { return {n.args()[0], n.args()[1]}; });
  return {reshape, reshape_as, alias,
          twin_of("aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor", by_size, "aten.view")};
}

}  // namespace edgewright::ops
