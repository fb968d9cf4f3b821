// src/ops/as_strided.cc - the base's storage under any sizes and strides. Depends on ops/view_rules.h.
//
// Sizes and strides count from the start of the storage, which a value does not know: the base has to be contiguous and all of its
// storage. What the exporter recorded (strides, and the views that the base was made by) tells where it is not.
#include <algorithm>

#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

// False where `v` is known to be less than its storage in row-major order: its strides say so, or it is part of another tensor.
bool is_whole_storage(const ir::Value* v) {
  while (v && v->tensor() && is_static(v->tensor()->shape)) {
    const auto sizes = ir::static_sizes(v->tensor()->shape);
    if (v->strides.size() == sizes.size()) {
      int64_t step = 1;
      for (size_t d = sizes.size(); d-- > 0; step *= sizes[d])
        if (sizes[d] > 1 && v->strides[d] != step) return false;
    }
    const OpDef* d = v->producer ? def(*v->producer) : nullptr;
    if (!d || (d->view_of.empty() && !d->functional)) return true;
    const ir::Value* base = v->producer->args()[0].value();
    if (!base || !base->tensor() || !(numel(base->tensor()->shape) == numel(v->tensor()->shape))) return false;
    v = base;
  }
  return true;
}

// [as_strided.3] The base is all of its storage. [as_strided.1] As many strides as sizes, none negative. [as_strided.2] Every element lies inside the base.
std::vector<Layout> as_strided(const Call& c, const Layout& base) {
  if (c.num_operands() > 0 && !is_whole_storage(c.value(0)))
    c.error("[as_strided.3] the base is a part or a permutation of its storage");
  Layout out{c.dims("size"), c.dims("stride"), c.has("storage_offset") ? c.dim("storage_offset") : Dim(0)};
  if (out.sizes.size() != out.strides.size()) {
    c.error(fmt::format("[as_strided.1] {} sizes, {} strides", out.sizes.size(), out.strides.size()));
    return {};
  }
  if (!is_static(out.sizes) || !is_static(out.strides) || !out.offset.is_constant() || !is_static(base.sizes))
    return {out};
  __int128 last = out.offset.value();
  bool empty = false;
  for (size_t d = 0; d < out.sizes.size(); ++d) {
    if (out.strides[d].value() < 0 || out.sizes[d].value() < 0) c.error("[as_strided.1] a negative size or stride");
    empty |= out.sizes[d].value() == 0;
    const __int128 reach = static_cast<__int128>(out.sizes[d].value() - 1) * out.strides[d].value();
    last = reach > INT64_MAX ? reach : last + reach;
  }
  if (!empty && (out.offset.value() < 0 || last >= numel(base.sizes).value()))
    c.error(fmt::format("[as_strided.2] it reaches outside the base's {} elements", numel(base.sizes).value()));
  return {out};
}
Result<ir::Value*> back(const ir::Node& n, size_t, ir::Value* base, ir::Value* written, Builder& b) {
  std::vector<ir::Arg> args{base, written};
  args.insert(args.end(), n.args().begin() + 1, n.args().end());
  return one(b, b("aten.as_strided_scatter", std::move(args)));
}

// All elements once, in the order of a permuted view: that view and permute.
Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const Shape size = c.dims("size"), stride = c.dims("stride");
  const bool at_start = !c.has("storage_offset") || c.dim("storage_offset") == Dim(0);
  if (c.failed() || !at_start || !is_static(size) || !is_static(stride) || !is_static(c.tensor("self").shape) ||
      !(numel(size) == numel(c.tensor("self").shape)) || numel(size) == Dim(0))
    return std::vector<ir::Value*>{};
  std::vector<size_t> order;  // outermost first; dims of size 1 have no place of their own
  for (size_t d = 0; d < size.size(); ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
    const auto rank = [&](size_t d) { return size[d] == Dim(1) ? INT64_MAX : stride[d].value(); };
    return rank(x) > rank(y);
  });
  int64_t step = 1;
  for (size_t k = order.size(); k-- > 0; step *= size[order[k]].value())
    if (!(size[order[k]] == Dim(1)) && stride[order[k]].value() != step) return std::vector<ir::Value*>{};
  std::vector<int64_t> sizes, perm(order.size());
  for (size_t k = 0; k < order.size(); ++k) {
    sizes.push_back(size[order[k]].value());
    perm[order[k]] = static_cast<int64_t>(k);
  }
  ir::Value* y = b("aten.view", {self_of(n), ir::Arg::ints(sizes)});
  if (!std::is_sorted(perm.begin(), perm.end())) y = b("aten.permute", {y, ir::Arg::ints(perm)});
  return b.done({y});
}

}  // namespace

std::vector<OpDef> define_as_strided() {
  OpDef d = view_op(
      "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
      as_strided, back);
  d.stock = "aten::as_strided_copy.out";
  d.decompose = decompose;
  return {
      d,
      twin_of(
          "aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
          as_strided, "aten.as_strided")};
}

}  // namespace edgewright::ops
