// src/ops/expand.cc - dims of size 1 (and new leading dims) repeated without a copy. Depends on ops/view_rules.h.
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

constexpr int64_t kMaxOnes = 1 << 16;

// [expand.1] As many sizes as dims, or more. [expand.2] A size other than the dim's own only where that is 1. -1 keeps a dim.
std::vector<Layout> to_sizes(const Call& c, const Layout& base, const Shape& size) {
  if (size.size() < base.sizes.size()) {
    c.error(fmt::format("[expand.1] {} sizes for {} dims", size.size(), base.sizes.size()));
    return {};
  }
  const size_t fresh = size.size() - base.sizes.size();
  Layout out{size, Shape(size.size(), Dim(0)), base.offset};
  for (size_t d = 0; d < size.size(); ++d) {
    const bool keep = size[d] == Dim(-1);
    if (d < fresh) {
      if (keep) c.error("[expand.2] -1 for a new dim");
      continue;
    }
    const Dim& own = base.sizes[d - fresh];
    if (keep) out.sizes[d] = own;
    if (own == Dim(1) && !(out.sizes[d] == Dim(1))) continue;
    if (own.is_constant() && out.sizes[d].is_constant() && !(own == out.sizes[d]))
      c.error(fmt::format("[expand.2] a dim of size {} cannot become {}", own.value(), out.sizes[d].value()));
    out.strides[d] = base.strides[d - fresh];
  }
  return {out};
}
std::vector<Layout> by_size(const Call& c, const Layout& base) { return to_sizes(c, base, c.dims("size")); }
std::vector<Layout> by_other(const Call& c, const Layout& base) { return to_sizes(c, base, c.tensor("other").shape); }

// Writing through repeated elements: PyTorch refuses it but for writes that give all of them the same value (fill_, zero_);
// then any of them is the base's.
Result<ir::Value*> back(const ir::Node&, size_t, ir::Value* base, ir::Value* written, Builder& b) {
  const Shape to = shape_of(written), from = shape_of(base);
  const size_t fresh = to.size() - from.size();
  bool repeats = false;
  ir::Value* v = written;
  for (size_t d = 0; d < to.size(); ++d) {
    const Dim own = d < fresh ? Dim(1) : from[d - fresh];
    if (own == to[d]) continue;
    repeats = true;
    v = b("aten.slice.Tensor", {v, static_cast<int64_t>(d), 0, 1});
  }
  const ir::Node* writer = written->producer;
  const bool uniform = writer && (writer->name().starts_with("aten.fill.") || writer->is("aten.zero") ||
                                  writer->name().starts_with("aten.full") || writer->is("aten.zeros_like"));
  if (repeats && !uniform) return fail(Code::kUnsupported, "expand: a write through elements that share memory");
  for (size_t d = 0; d < fresh; ++d) v = b("aten.squeeze.dim", {v, 0});
  return one(b, v);
}

// Repeating is a multiplication by ones, which changes no bit; a repeat of nothing is a reshape.
Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  const Shape &from = shape_of(self_of(n)), &to = shape_of(n.result());
  if (numel(from) == numel(to)) return lower_as_reshape(n, out);
  if (numel(to) == Dim(0)) return fail(Code::kKeptOnHost, "the result is empty");
  if (!is_static(from) || !is_static(to)) return fail(Code::kKeptOnHost, "an expand to sizes known only at run time");
  std::vector<int64_t> ones = ir::static_sizes(to);
  int64_t count = 1;
  for (size_t d = 0; d < ones.size(); ++d) {
    if (d + from.size() >= to.size() && from[d + from.size() - to.size()] == to[d]) ones[d] = 1;
    count *= ones[d];
  }
  if (count > kMaxOnes)
    return fail(Code::kKeptOnHost, "XNNPACK has no broadcast copy, and {} repeats are too many for a constant of ones",
                count);
  return out.binary(XnnBinary::kMultiply, self_of(n),
                    out.constant_f32(std::vector<float>(static_cast<size_t>(count), 1.0f), ones), n.result());
}

}  // namespace

std::vector<OpDef> define_expand() {
  OpDef d = view_op("aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", by_size, back);
  d.lower = lower;
  d.stock = "aten::expand_copy.out";
  OpDef as = view_op("aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", by_other, back);
  as.decompose = becomes("aten.expand", [](const ir::Node& n, Builder& b) -> std::vector<ir::Arg> {
    return {n.args()[0], size_args(b, n.args()[1].value())};
  });
  OpDef to = view_op("aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", by_size, back);
  to.decompose = becomes("aten.expand");
  return {d, as, to,
          twin_of("aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", by_size,
                  "aten.expand")};
}

}  // namespace edgewright::ops
