// src/ops/slice.cc - self[start:end:step] along one dim, and narrow. Depends on ops/view_rules.h.
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

SliceRange range_of(const Call& c, const Shape& s, int64_t dim) {
  return slice_range(c, maybe_dim(c, "start"), maybe_dim(c, "end"), c.dim("step"), s[static_cast<size_t>(dim)]);
}
Layout cut(const Layout& base, int64_t dim, const SliceRange& r, const Dim& step) {
  Layout out = base;
  const size_t d = static_cast<size_t>(dim);
  out.sizes[d] = r.length;
  out.offset = base.offset + r.start * base.strides[d];
  out.strides[d] = base.strides[d] * step;
  return out;
}
// [slice.1] self has dims. [slice.2] step > 0.
std::vector<Layout> slice(const Call& c, const Layout& base) {
  if (base.sizes.empty()) {
    c.error("[slice.1] a 0-dim tensor cannot be sliced");
    return {};
  }
  const int64_t dim = c.axis("dim", static_cast<int64_t>(base.sizes.size()));
  return {cut(base, dim, range_of(c, base.sizes, dim), c.dim("step"))};
}
Result<ir::Value*> back(const ir::Node& n, size_t, ir::Value* base, ir::Value* written, Builder& b) {
  std::vector<ir::Arg> args{base, written};
  args.insert(args.end(), n.args().begin() + 1, n.args().end());
  return one(b, b("aten.slice_scatter", std::move(args)));
}
// A slice with a step, which XNNPACK's payload has not: what it covers, as rows of `step` elements, of which the first are taken.
Result<void> stepped(XnnEmitter& out, const ir::Node& n, const Call& c, int64_t dim, const SliceRange& r) {
  const auto d = static_cast<size_t>(dim);
  const ir::Value* x = self_of(n);
  Shape s = shape_of(x);
  if (!is_static(s) || !r.start.is_constant() || !r.length.is_constant() || !c.dim("step").is_constant())
    return fail(Code::kKeptOnHost, "a strided slice of a size known only at run time");
  const int64_t step = c.dim("step").value(), rows = r.length.value(), start = r.start.value();
  const int64_t size = s[d].value(), covered = rows * step;
  if (rows == 0) return fail(Code::kKeptOnHost, "the result is empty");
  const auto next = [&](const Shape& to) { return out.temporary({x->tensor()->dtype, to}); };
  const auto sizes_of = [&](size_t at, int64_t v) {
    std::vector<int64_t> z(s.size(), 0);
    z[at] = v;
    return z;
  };
  if (start + covered > size) {  // the last row is not whole
    s[d] = start + covered;
    const ir::Value* y = next(s);
    EW_TRY(out.static_constant_pad(x, y, sizes_of(d, 0), sizes_of(d, start + covered - size), 0));
    x = y;
  }
  if (start > 0 || start + covered < s[d].value()) {
    s[d] = covered;
    const ir::Value* y = next(s);
    EW_TRY(emit_slice(out, x, y, dim, start, covered));
    x = y;
  }
  s[d] = rows;
  s.insert(s.begin() + dim + 1, step);
  const ir::Value* split = next(s);
  EW_TRY(out.static_reshape(x, split, s));
  s[d + 1] = 1;
  const ir::Value* firsts = next(s);
  EW_TRY(emit_slice(out, split, firsts, dim + 1, 0, 1));
  return out.static_reshape(firsts, n.result(), shape_of(n.result()));
}
Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  const Call c = Call::of(n);
  const Shape& s = shape_of(self_of(n));
  const int64_t dim = c.axis("dim", rank_of(self_of(n)));
  const SliceRange r = range_of(c, s, dim);
  if (!(c.dim("step") == Dim(1)) && !(r.length == Dim(1))) return stepped(out, n, c, dim, r);
  return emit_slice(out, self_of(n), n.result(), dim, r.start, r.length);
}

// [narrow.1] start and length lie within the dim.
SliceRange narrow_range(const Call& c, const Shape& s, int64_t dim) {
  const Dim &n = s[static_cast<size_t>(dim)], length = c.dim("length"), at = c.dim("start");
  const Dim start = at.is_constant() && at.value() < 0 ? n + at : at;
  if (n.is_constant() && start.is_constant() && length.is_constant() &&
      (start.value() < 0 || length.value() < 0 || length.value() > n.value() ||
       start.value() > n.value() - length.value()))
    c.error(fmt::format("[narrow.1] {} elements from {} are outside a dim of size {}", length.value(), at.value(),
                        n.value()));
  return {start, length};
}
std::vector<Layout> narrow(const Call& c, const Layout& base) {
  if (base.sizes.empty()) {
    c.error("[narrow.2] a 0-dim tensor cannot be narrowed");
    return {};
  }
  const int64_t dim = c.axis("dim", static_cast<int64_t>(base.sizes.size()));
  return {cut(base, dim, narrow_range(c, base.sizes, dim), 1)};
}
// start and end of the slice that a narrow is, as arguments.
Result<std::pair<ir::Arg, ir::Arg>> bounds(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const int64_t dim = c.axis("dim", rank_of(self_of(n)));
  const SliceRange r = narrow_range(c, shape_of(self_of(n)), dim);
  const Dim end = r.start + r.length;
  const auto arg = [](const Dim& d, ir::Arg otherwise) { return d.is_constant() ? ir::Arg(d.value()) : otherwise; };
  // A negative start of a dim of unknown size stays negative; a slice reads it the same way.
  ir::Arg start = arg(r.start, n.arg("start"));
  ir::Arg stop = arg(end, ir::Arg());
  if (!end.is_constant() && !(end == shape_of(self_of(n))[static_cast<size_t>(dim)])) {
    if (start.i() && *start.i() < 0 && r.length.is_constant())
      stop = *start.i() + r.length.value();
    else
      stop = sum_arg(b, start, n.arg("length"));
  }
  return std::pair{start, stop};
}
Result<ir::Value*> narrow_back(const ir::Node& n, size_t, ir::Value* base, ir::Value* written, Builder& b) {
  EW_ASSIGN(auto range, bounds(n, b));
  return one(b, b("aten.slice_scatter", {base, written, n.arg("dim"), range.first, range.second}));
}
Result<std::vector<ir::Value*>> narrow_as_slice(const ir::Node& n, Builder& b) {
  EW_ASSIGN(auto range, bounds(n, b));
  return all(b, {b("aten.slice.Tensor", {self_of(n), n.arg("dim"), range.first, range.second})});
}

}  // namespace

std::vector<OpDef> define_slice() {
  OpDef d = view_op(
      "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
      slice, back);
  d.lower = lower;
  d.stock = "aten::slice_copy.Tensor_out";
  OpDef n =
      view_op("aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", narrow, narrow_back);
  n.decompose = narrow_as_slice;
  OpDef nc = moving_op("aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", narrow);
  nc.decompose = narrow_as_slice;
  return {d, n, nc,
          twin_of("aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
                  "step=1) -> Tensor",
                  slice, "aten.slice.Tensor")};
}

}  // namespace edgewright::ops
