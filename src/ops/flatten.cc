// src/ops/flatten.cc - a run of dims becomes one (flatten, ravel) or one dim becomes several (unflatten). Depends on ops/view_rules.h.
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

using Args = std::vector<ir::Arg>;

Shape flat(const Shape& s, int64_t first, int64_t last) {
  Shape out;
  for (int64_t d = 0; d < static_cast<int64_t>(s.size()); ++d) {
    if (d > first && d <= last)
      out.back() = out.back() * s[static_cast<size_t>(d)];
    else
      out.push_back(s[static_cast<size_t>(d)]);
  }
  if (s.empty()) out = {1};
  return out;
}

// [flatten.1] start_dim does not come after end_dim. A 0-dim tensor becomes one of size 1.
std::vector<Layout> flatten(const Call& c, const Layout& base) {
  const int64_t rank = static_cast<int64_t>(base.sizes.size());
  const int64_t first = c.axis("start_dim", rank), last = c.axis("end_dim", rank);
  if (first > last) c.error(fmt::format("[flatten.1] start_dim {} comes after end_dim {}", first, last));
  return {reshaped(base, flat(base.sizes, first, last))};
}
std::vector<Layout> ravel(const Call&, const Layout& base) { return {reshaped(base, {numel(base.sizes)})}; }

// Sizes as arguments, the merged one as -1 where it is symbolic.
Result<std::vector<ir::Value*>> as_view(const ir::Node& n, Builder& b) {
  ir::Value* x = self_of(n);
  const Shape& to = shape_of(n.result());
  const Call c = Call::of(n);
  const bool ranged = n.is("aten.flatten.using_ints");
  const int64_t merged = ranged ? c.axis("start_dim", rank_of(x)) : 0;
  const int64_t dropped = rank_of(x) - static_cast<int64_t>(to.size());
  ir::ArgList sizes;
  for (int64_t d = 0; d < static_cast<int64_t>(to.size()); ++d) {
    const Dim& s = to[static_cast<size_t>(d)];
    if (s.is_constant())
      sizes.push_back(s.value());
    else
      sizes.push_back(d == merged ? ir::Arg(-1) : size_arg(b, x, d < merged ? d : d + dropped));
  }
  return all(b, {b("aten.view", {x, std::move(sizes)})});
}

// The sizes that take the place of `dim`; one may be -1.
std::vector<Layout> unflatten(const Call& c, const Layout& base) {
  const int64_t dim = c.axis("dim", static_cast<int64_t>(base.sizes.size()));
  if (base.sizes.empty()) {
    c.error("[unflatten.1] a 0-dim tensor has no dim to unflatten");
    return {};
  }
  const Shape parts = resolve_sizes(c, {base.sizes[static_cast<size_t>(dim)]}, c.dims("sizes"));
  Shape out(base.sizes.begin(), base.sizes.begin() + dim);
  out.insert(out.end(), parts.begin(), parts.end());
  out.insert(out.end(), base.sizes.begin() + dim + 1, base.sizes.end());
  return {reshaped(base, std::move(out))};
}
Result<std::vector<ir::Value*>> unflatten_as_view(const ir::Node& n, Builder& b) {
  ir::Value* x = self_of(n);
  const int64_t dim = Call::of(n).axis("dim", rank_of(x));
  ir::ArgList sizes;
  bool open = false;
  for (int64_t d = 0; d < dim; ++d) sizes.push_back(size_arg(b, x, d));
  const ir::Arg parts = n.arg("sizes");
  if (parts.list())
    for (const ir::Arg& a : *parts.list()) {
      sizes.push_back(a);
      open |= a.i() && *a.i() == -1;
    }
  // With a -1 among them, the other dims must not hold a second one; they are ints or sym_size values, so they do not.
  for (int64_t d = dim + 1; d < rank_of(x); ++d) sizes.push_back(size_arg(b, x, d));
  if (open && is_static(shape_of(n.result())))
    return all(b, {b("aten.view", {x, ir::Arg::ints(ir::static_sizes(shape_of(n.result())))})});
  return all(b, {b("aten.view", {x, std::move(sizes)})});
}

}  // namespace

std::vector<OpDef> define_flatten() {
  OpDef d = view_op("aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", flatten,
                    scatter_reshaped);
  d.decompose = as_view;
  OpDef r = view_op("aten::ravel(Tensor(a) self) -> Tensor(a)", ravel, scatter_reshaped);
  r.decompose = as_view;
  OpDef u =
      view_op("aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", unflatten, scatter_reshaped);
  u.decompose = unflatten_as_view;
  return {d, r, u};
}

}  // namespace edgewright::ops
