#include "ops/view_rules.h"

#include <algorithm>
#include <map>

#include "base/checked.h"

namespace edgewright::ops {

std::optional<std::vector<int64_t>> reshape_strides(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                                                    std::span<const int64_t> new_sizes) {
  std::vector<int64_t> out(new_sizes.size(), 1);
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  if (n == 0) return ir::contiguous_strides(new_sizes);
  // Runs of dims that step evenly through memory, innermost first. Size-1 dims never step, so they separate nothing.
  struct Run {
    int64_t size, stride;
  };
  std::vector<Run> runs;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (!runs.empty() && strides[d] == runs.back().stride * runs.back().size)
      runs.back().size *= sizes[d];
    else
      runs.push_back({sizes[d], strides[d]});
  }
  // Each new dim has to lie within one run.
  size_t at = 0;
  int64_t step = runs.empty() ? 1 : runs[0].stride, left = runs.empty() ? 1 : runs[0].size;
  for (size_t d = new_sizes.size(); d-- > 0;) {
    out[d] = step;
    if (new_sizes[d] == 1) continue;
    if (left == 1) {
      if (++at >= runs.size()) return std::nullopt;
      step = out[d] = runs[at].stride;
      left = runs[at].size;
    }
    if (new_sizes[d] == 0 || left % new_sizes[d] != 0) return std::nullopt;
    left /= new_sizes[d];
    step *= new_sizes[d];
  }
  return out;
}

Shape resolve_sizes(const Call& c, const Shape& self, Shape wanted) {
  std::optional<size_t> open;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i].is_constant() || wanted[i].value() >= 0) continue;
    if (wanted[i].value() != -1 || open) {
      c.error(fmt::format("[view.1] sizes hold {}", open ? "more than one -1" : wanted[i].str()));
      return wanted;
    }
    open = i;
  }
  if (!open) {
    if (is_static(self) && is_static(wanted) && !(numel(self) == numel(wanted)))
      c.error(
          fmt::format("[view.2] {} elements cannot be viewed as {} elements", numel(self).str(), numel(wanted).str()));
    return wanted;
  }
  // Equal factors cancel, so that symbolic sizes divide exactly where they visibly do.
  Shape rest = self;
  Dim divisor = 1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i == *open) continue;
    const auto same = std::find(rest.begin(), rest.end(), wanted[i]);
    if (same != rest.end() && !(wanted[i] == Dim(0)))
      rest.erase(same);
    else
      divisor = divisor * wanted[i];
  }
  const Dim n = numel(rest);
  if (divisor == Dim(0)) {
    c.error("[view.3] -1 cannot be worked out beside a size of 0");
    return wanted;
  }
  if (n.is_constant() && divisor.is_constant() && n.value() % divisor.value() != 0)
    c.error(fmt::format("[view.2] {} elements do not divide by {}", n.value(), divisor.value()));
  wanted[*open] = floordiv(n, divisor);
  return wanted;
}

Layout reshaped(const Layout& base, Shape sizes) {
  Layout out{std::move(sizes), {}, base.offset};
  if (is_static(base.sizes) && is_static(base.strides) && is_static(out.sizes)) {
    const auto to = ir::static_sizes(out.sizes);
    auto st = reshape_strides(ir::static_sizes(base.sizes), ir::static_sizes(base.strides), to);
    for (int64_t s : st ? *st : ir::contiguous_strides(to)) out.strides.push_back(s);
  } else {
    out.strides.assign(out.sizes.size(), Dim(0));
  }
  return out;
}

namespace {
// The layout of a freshly made tensor.
Layout contiguous_layout(const Shape& sizes) {
  Layout l{sizes, Shape(sizes.size(), Dim(0)), 0};
  if (is_static(sizes)) {
    const auto st = ir::contiguous_strides(ir::static_sizes(sizes));
    l.strides.assign(st.begin(), st.end());
  }
  return l;
}
// False where an element would lie outside a base of `n` elements: a rule's or a file's mistake, reported and not read.
bool inside(const Layout& l, int64_t n) {
  if (!is_static(l.sizes) || !is_static(l.strides) || !l.offset.is_constant()) return false;
  int64_t last = l.offset.value();
  if (last < 0) return false;
  for (const Dim& s : l.sizes)
    if (s.value() == 0) return true;
  for (size_t d = 0; d < l.sizes.size(); ++d) {
    const __int128 reach = static_cast<__int128>(l.sizes[d].value() - 1) * l.strides[d].value() + last;
    if (l.strides[d].value() < 0 || reach >= n) return false;
    last = static_cast<int64_t>(reach);
  }
  return last < n;
}

Result<Types> infer_layouts(const Call& c, const LayoutRule& rule) {
  const TensorType& self = c.type(0);
  Types out;
  for (Layout& l : rule(c, contiguous_layout(self.shape))) {
    if (l.sizes.size() > kMaxRank) c.error(fmt::format("a rank of {} is more than {}", l.sizes.size(), kMaxRank));
    for (const Dim& d : l.sizes)
      if (d.is_constant() && d.value() < 0) c.error(fmt::format("a result's size would be {}", d.value()));
    if (is_static(l.sizes) && !checked_numel(ir::static_sizes(l.sizes)))
      c.error("a result would have too many elements");
    out.push_back(TensorType{self.dtype, std::move(l.sizes)});
  }
  return out;
}

Result<Point> eval_layout(const Call& c, size_t r, const LayoutRule& rule) {
  const Shape& self = c.type(0).shape;
  if (!is_static(self)) return fail(Code::kInternal, "{}: evaluated before its sizes are known", c.name());
  const std::vector<Layout> layouts = rule(c, contiguous_layout(self));
  if (r >= layouts.size() || c.failed()) return fail(Code::kInternal, "{}: no result {}", c.name(), r);
  if (!inside(layouts[r], numel(self).value()))
    return fail(Code::kUnsupported, "{}: a result reaches outside its base", c.name());
  return move_point([from = ir::contiguous_strides(ir::static_sizes(self)), sizes = ir::static_sizes(self),
                     strides = ir::static_sizes(layouts[r].strides),
                     offset = layouts[r].offset.value()](Index at, int64_t* in) {
    int64_t element = offset;
    for (size_t d = 0; d < at.size(); ++d) element += at[d] * strides[d];
    for (size_t d = 0; d < sizes.size(); ++d) {
      in[d] = element / from[d];
      element %= from[d];
    }
    return 0;
  });
}

Result<void> whole_layouts(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out,
                           const LayoutRule& rule) {
  const ir::Tensor base = in[0].contiguous();
  const std::vector<Layout> layouts = rule(c, contiguous_layout(c.type(0).shape));
  if (layouts.size() != out.size())
    return fail(Code::kInternal, "{}: {} results where {} were asked for", c.name(), layouts.size(), out.size());
  for (size_t r = 0; r < out.size(); ++r) {
    if (!inside(layouts[r], base.numel()))
      return fail(Code::kUnsupported, "{}: a result reaches outside its base", c.name());
    ir::Tensor t = base;
    t.sizes = ir::static_sizes(layouts[r].sizes);
    t.strides = ir::static_sizes(layouts[r].strides);
    t.data += layouts[r].offset.value() * static_cast<int64_t>(size_of(t.dtype));
    out[r] = t.contiguous();  // shares bytes where it can
  }
  return {};
}
}  // namespace

namespace {
// Rules by op name. Filled while the op table is made, once; read only afterwards.
std::map<std::string, LayoutRule, std::less<>>& rules() {
  static std::map<std::string, LayoutRule, std::less<>> r;
  return r;
}
}  // namespace

std::vector<Layout> layouts_of(const ir::Node& n) {
  const auto it = rules().find(n.name());
  if (it == rules().end()) return {};
  const Call c = Call::of(n);
  std::vector<Layout> l = it->second(c, contiguous_layout(c.type(0).shape));
  return c.failed() ? std::vector<Layout>{} : l;
}

OpDef moving_op(std::string schema, LayoutRule rule) {
  if (const auto s = ir::parse_schema(schema)) rules()[s->name] = rule;
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = [rule](const Call& c) { return infer_layouts(c, rule); };
  d.eval = [rule](const Call& c, size_t r) { return eval_layout(c, r, rule); };
  d.whole = [rule](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
    return whole_layouts(c, in, out, rule);
  };
  return d;
}

OpDef view_op(std::string schema, LayoutRule rule, ScatterBack back) {
  OpDef d = moving_op(std::move(schema), std::move(rule));
  d.view_of = "self";
  d.scatter_back = std::move(back);
  return d;
}

OpDef twin_of(std::string schema, LayoutRule rule, std::string view_name) {
  OpDef d = moving_op(std::move(schema), std::move(rule));
  d.decompose = becomes(std::move(view_name));
  return d;
}

std::function<Result<std::vector<ir::Value*>>(const ir::Node&, Builder&)> becomes(std::string op) {
  return becomes(std::move(op), [](const ir::Node& n, Builder&) { return n.args(); });
}
std::function<Result<std::vector<ir::Value*>>(const ir::Node&, Builder&)> becomes(std::string op, ArgsOf args) {
  return
      [op = std::move(op), args = std::move(args)](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
        return b.done(b.multi(op, args(n, b)));
      };
}

Result<ir::Value*> scatter_reshaped(const ir::Node&, size_t, ir::Value* base, ir::Value* written, Builder& b) {
  if (shape_of(base) == shape_of(written)) return written;
  return one(b, b("aten.view", {written, size_args(b, base)}));
}

const Shape& shape_of(const ir::Value* v) {
  static const Shape kNone;
  const TensorType* t = v ? v->tensor() : nullptr;
  return t ? t->shape : kNone;
}
ir::Arg size_arg(Builder& b, ir::Value* v, int64_t d) {
  const Dim& s = shape_of(v)[static_cast<size_t>(d)];
  if (s.is_constant()) return s.value();
  return b("aten.sym_size.int", {v, d});
}
ir::Arg size_args(Builder& b, ir::Value* v) {
  ir::ArgList l;
  for (int64_t d = 0; d < rank_of(v); ++d) l.push_back(size_arg(b, v, d));
  return l;
}
ir::Arg sum_arg(Builder& b, const ir::Arg& x, const ir::Arg& y) {
  if (x.i() && y.i()) return *x.i() + *y.i();
  return b("_operator.add", {x, y});
}
ir::Arg product_arg(Builder& b, const ir::Arg& x, const ir::Arg& y) {
  if (x.i() && y.i()) return *x.i() * *y.i();
  return b("_operator.mul", {x, y});
}
Result<ir::Value*> one(Builder& b, ir::Value* v) {
  EW_ASSIGN(auto vs, b.done({v}));
  return vs[0];
}
Result<std::vector<ir::Value*>> all(Builder& b, std::vector<ir::Value*> v) { return b.done(std::move(v)); }

Dim wrapped_index(const Call& c, const Dim& index, const Dim& n) {
  if (!index.is_constant()) return index;
  const int64_t i = index.value();
  if (n.is_constant() && (i >= n.value() || i < -n.value()))
    c.error(fmt::format("index {} is outside a dim of size {}", i, n.value()));
  return i < 0 ? n + Dim(i) : index;
}

namespace {
// A slice bound brought into [0, n]. Where it cannot be decided, the expression that decides at run time.
Dim clamped(const Dim& bound, const Dim& n) {
  if (bound.is_constant()) {
    const int64_t i = bound.value();
    if (i == INT64_MAX) return n;
    if (n.is_constant()) return std::clamp<int64_t>(i < 0 ? (i < -n.value() ? 0 : i + n.value()) : i, 0, n.value());
    if (i == 0) return 0;
    return i < 0 ? max(n + Dim(i), 0) : min(n, bound);
  }
  if (bound == n) return n;
  // A symbolic bound is taken as non-negative: exporters guard on its sign.
  return min(bound, n);
}
}  // namespace

SliceRange slice_range(const Call& c, const std::optional<Dim>& start, const std::optional<Dim>& end, const Dim& step,
                       const Dim& n) {
  const Dim from = start ? clamped(*start, n) : Dim(0), to = end ? clamped(*end, n) : n;
  if (step.is_constant() && step.value() <= 0) {
    c.error(fmt::format("a step of {} is not positive", step.value()));
    return {from, 0};
  }
  Dim span = to - from;
  if (span.is_constant()) {
    span = std::max<int64_t>(span.value(), 0);
  } else if (!(from == Dim(0))) {
    span = max(span, 0);
  }
  if (span.is_constant() && step.is_constant())
    return {from, span.value() == 0 ? 0 : (span.value() - 1) / step.value() + 1};
  return {from, floordiv(span + step - Dim(1), step)};
}
std::optional<Dim> maybe_dim(const Call& c, std::string_view param) {
  return c.has(param) ? std::optional(c.dim(param)) : std::nullopt;
}

Layout permuted(const Layout& base, const std::vector<int64_t>& perm) {
  Layout out{{}, {}, base.offset};
  for (int64_t d : perm) {
    out.sizes.push_back(base.sizes[static_cast<size_t>(d)]);
    out.strides.push_back(base.strides[static_cast<size_t>(d)]);
  }
  return out;
}
std::vector<int64_t> inverse(const std::vector<int64_t>& perm) {
  std::vector<int64_t> inv(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inv[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return inv;
}

Result<void> lower_as_reshape(const ir::Node& n, XnnEmitter& out) {
  if (shape_of(self_of(n)) == shape_of(n.result())) return out.copy(self_of(n), n.result());
  return out.static_reshape(self_of(n), n.result(), shape_of(n.result()));
}
Result<void> emit_slice(XnnEmitter& out, const ir::Value* in, const ir::Value* result, int64_t axis, const Dim& start,
                        const Dim& length) {
  const Shape& s = shape_of(in);
  if (length == s[static_cast<size_t>(axis)]) return out.copy(in, result);
  if (!start.is_constant() || !length.is_constant())
    return fail(Code::kKeptOnHost, "XNNPACK's slice has a constant start and length");
  if (length.value() == 0) return fail(Code::kKeptOnHost, "the slice is empty");
  std::vector<int64_t> offsets(s.size(), 0), sizes;
  for (const Dim& d : s) sizes.push_back(d.maybe().value_or(0));
  offsets[static_cast<size_t>(axis)] = start.value();
  sizes[static_cast<size_t>(axis)] = length.value();
  return out.static_slice(in, result, std::move(offsets), std::move(sizes));
}
Result<void> emit_concatenate(XnnEmitter& out, std::vector<const ir::Value*> in, const ir::Value* result,
                              int64_t axis) {
  const size_t d = static_cast<size_t>(axis);
  std::erase_if(in, [&](const ir::Value* v) { return shape_of(v).size() > d && shape_of(v)[d] == Dim(0); });
  if (in.empty()) return fail(Code::kKeptOnHost, "nothing to concatenate");
  if (in.size() == 1) return out.copy(in[0], result);
  while (in.size() > kMaxConcatenated) {
    std::vector<const ir::Value*> next;
    for (size_t i = 0; i < in.size(); i += kMaxConcatenated) {
      const std::vector<const ir::Value*> some(
          in.begin() + static_cast<int64_t>(i),
          in.begin() + static_cast<int64_t>(std::min(i + kMaxConcatenated, in.size())));
      if (some.size() == 1) {
        next.push_back(some[0]);
        continue;
      }
      TensorType t = *some[0]->tensor();
      for (size_t k = 1; k < some.size(); ++k) t.shape[d] = t.shape[d] + shape_of(some[k])[d];
      next.push_back(out.temporary(t));
      EW_TRY(out.concatenate(some, next.back(), axis));
    }
    in = std::move(next);
  }
  return out.concatenate(std::move(in), result, axis);
}
Result<void> emit_slices(XnnEmitter& out, const ir::Value* in, const ir::Value* result, int64_t axis,
                         const std::vector<Cut>& cuts) {
  if (cuts.size() > kMaxSlices) return fail(Code::kKeptOnHost, "it would take {} slices", cuts.size());
  std::vector<const ir::Value*> parts;
  for (const Cut& cut : cuts) {
    if (cut.length == 0) continue;
    if (Dim(cut.length) == shape_of(in)[static_cast<size_t>(axis)]) {
      parts.push_back(in);
      continue;
    }
    TensorType t = *in->tensor();
    t.shape[static_cast<size_t>(axis)] = cut.length;
    parts.push_back(out.temporary(t));
    EW_TRY(emit_slice(out, in, parts.back(), axis, cut.start, cut.length));
  }
  return emit_concatenate(out, std::move(parts), result, axis);
}
Result<void> emit_transpose(XnnEmitter& out, const ir::Value* in, const ir::Value* result, std::vector<int64_t> perm) {
  if (perm.size() > 6) return fail(Code::kKeptOnHost, "XNNPACK transposes up to 6 dims, not {}", perm.size());
  if (std::is_sorted(perm.begin(), perm.end())) return out.copy(in, result);
  return out.static_transpose(in, result, std::move(perm));
}

}  // namespace edgewright::ops
