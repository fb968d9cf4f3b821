#include "ops/index_map.h"

#include <algorithm>
#include <numeric>

namespace edgewright::ops {
namespace {

using Factor = IndexMap::Factor;

// Appends a digit inside those present; one that goes on where the last steps becomes part of it. `floor`: digits before it are
// of another dim.
void append(std::vector<Factor>& to, Factor f, size_t floor = 0) {
  if (f.size == 1) return;
  if (to.size() > floor && to.back().stride == f.stride * f.size)
    to.back() = {to.back().size * f.size, f.stride};
  else
    to.push_back(f);
}
int64_t product(const std::vector<int64_t>& v) {
  return std::accumulate(v.begin(), v.end(), int64_t{1}, std::multiplies<>());
}
int64_t size_of_dim(const IndexMap::Dims& d) {
  int64_t n = 1;
  for (const Factor& f : d.factors) n *= f.size;
  return n;
}

// A result as digits across all of its dims, outermost first, with the weight of each in the row-major number of an element.
struct Digits {
  std::vector<Factor> factors;
  std::vector<int64_t> weights;
  explicit Digits(const std::vector<IndexMap::Dims>& dims) {
    for (const auto& d : dims)
      for (const Factor& f : d.factors) append(factors, f);
    weights.resize(factors.size());
    int64_t w = 1;
    for (size_t k = factors.size(); k-- > 0; w *= factors[k].size) weights[k] = w;
  }
};

}  // namespace

IndexMap IndexMap::identity(std::vector<int64_t> sizes) {
  IndexMap m;
  const auto strides = ir::contiguous_strides(sizes);
  for (size_t d = 0; d < sizes.size(); ++d)
    m.dims_.push_back({sizes[d] == 1 ? std::vector<Factor>{} : std::vector<Factor>{{sizes[d], strides[d]}}});
  m.source_ = std::move(sizes);
  return m;
}

std::optional<IndexMap> IndexMap::reshape(std::vector<int64_t> from, const std::vector<int64_t>& to) {
  if (product(from) != product(to)) return std::nullopt;
  IndexMap m = identity(to);
  m.source_ = std::move(from);
  return m;
}

std::optional<IndexMap> IndexMap::of(const ir::Node& n, size_t r) {
  if (n.args().empty() || !n.args()[0].value() || !is_static(shape_of(n.args()[0].value()))) return std::nullopt;
  if (n.is("aten.flip")) {
    const Call c = Call::of(n);
    IndexMap m = identity(ir::static_sizes(shape_of(n.args()[0].value())));
    if (product(m.source_) == 0) return std::nullopt;
    for (int64_t d : c.axes("dims", static_cast<int64_t>(m.dims_.size()), false)) m.reverse(static_cast<size_t>(d));
    return c.failed() ? std::nullopt : std::optional(std::move(m));
  }
  if (n.is("aten.repeat")) {
    // Copies side by side: an outer digit of stride 0 for each dim.
    const Call c = Call::of(n);
    const std::vector<int64_t> times = c.ints("repeats");
    IndexMap m = identity(ir::static_sizes(shape_of(n.args()[0].value())));
    if (c.failed() || times.size() < m.dims_.size() || product(m.source_) * product(times) == 0) return std::nullopt;
    m.dims_.insert(m.dims_.begin(), times.size() - m.dims_.size(), Dims{});
    for (size_t d = 0; d < times.size(); ++d)
      if (times[d] > 1) m.dims_[d].factors.insert(m.dims_[d].factors.begin(), {times[d], 0});
    return m;
  }
  const auto layouts = layouts_of(n);
  if (r >= layouts.size()) return std::nullopt;
  const Layout& l = layouts[r];
  if (!is_static(l.sizes) || !is_static(l.strides) || !l.offset.is_constant()) return std::nullopt;
  IndexMap m;
  m.source_ = ir::static_sizes(shape_of(n.args()[0].value()));
  m.offset_ = l.offset.value();
  for (size_t d = 0; d < l.sizes.size(); ++d) {
    const int64_t size = l.sizes[d].value(), stride = l.strides[d].value();
    if (size == 0) return std::nullopt;
    m.dims_.push_back({size == 1 ? std::vector<Factor>{} : std::vector<Factor>{{size, stride}}});
  }
  return m;
}

std::vector<int64_t> IndexMap::sizes() const {
  std::vector<int64_t> out;
  for (const Dims& d : dims_) out.push_back(size_of_dim(d));
  return out;
}

int64_t IndexMap::element(Index at) const {
  int64_t e = offset_;
  for (size_t d = 0; d < dims_.size(); ++d) {
    int64_t i = at[d];
    for (size_t k = dims_[d].factors.size(); k-- > 0;) {
      const Factor& f = dims_[d].factors[k];
      e += i % f.size * f.stride;
      i /= f.size;
    }
  }
  return e;
}

std::optional<IndexMap> IndexMap::then(const IndexMap& next) const {
  if (next.source_ != sizes() || product(source_) == 0) return std::nullopt;
  const Digits mine(dims_);
  const size_t n = mine.factors.size();
  // The digits of a number of the middle tensor's elements.
  const auto digit = [&](int64_t number, size_t k) { return number / mine.weights[k] % mine.factors[k].size; };
  IndexMap out;
  out.source_ = source_;
  out.offset_ = offset_;
  // Backwards steps are taken as forward ones from the other end, and turned round again.
  int64_t first = next.offset_;
  for (const Dims& d : next.dims_)
    for (const Factor& f : d.factors)
      if (f.stride < 0) first += (f.size - 1) * f.stride;
  std::vector<int64_t> reach(n);  // the largest value each digit gets; no digit may overflow into the next
  for (size_t k = 0; k < n; ++k) {
    reach[k] = digit(first, k);
    out.offset_ += reach[k] * mine.factors[k].stride;
  }
  for (const Dims& d : next.dims_) {
    std::vector<Factor> todo(d.factors.rbegin(), d.factors.rend());  // outermost last
    Dims made;
    while (!todo.empty()) {
      Factor f = todo.back();
      todo.pop_back();
      if (f.stride == 0) {
        append(made.factors, f);
        continue;
      }
      const bool backwards = f.stride < 0;
      f.stride = std::abs(f.stride);
      int64_t stride = 0;
      size_t parts = 0, part = 0;
      bool carries = false;
      for (size_t k = 0; k < n; ++k) {
        const int64_t q = digit(f.stride, k);
        if (q == 0) continue;
        ++parts;
        part = k;
        stride += q * mine.factors[k].stride;
        carries |= q * (f.size - 1) >= mine.factors[k].size;
      }
      if (carries) {
        // Steps that leave the digit go on in the next one, if they hit it exactly.
        const int64_t edge = mine.weights[part] * mine.factors[part].size;
        if (parts != 1 || edge % f.stride != 0 || f.size % (edge / f.stride) != 0) return std::nullopt;
        const int64_t inner = edge / f.stride;
        todo.push_back({inner, backwards ? -f.stride : f.stride});
        todo.push_back({f.size / inner, backwards ? -edge : edge});
        continue;
      }
      for (size_t k = 0; k < n; ++k) reach[k] += digit(f.stride, k) * (f.size - 1);
      if (backwards) {
        out.offset_ += (f.size - 1) * stride;
        stride = -stride;
      }
      append(made.factors, {f.size, stride});
    }
    out.dims_.push_back(std::move(made));
  }
  for (size_t k = 0; k < n; ++k)
    if (reach[k] >= mine.factors[k].size) return std::nullopt;
  return out;
}

void IndexMap::reverse(size_t dim) {
  for (Factor& f : dims_[dim].factors) {
    offset_ += (f.size - 1) * f.stride;
    f.stride = -f.stride;
  }
}
IndexMap IndexMap::permuted(const std::vector<int64_t>& perm) const {
  IndexMap m = *this;
  for (size_t d = 0; d < perm.size(); ++d) m.dims_[d] = dims_[static_cast<size_t>(perm[d])];
  return m;
}
IndexMap IndexMap::at_first(size_t dim) const {
  IndexMap m = *this;
  m.dims_.erase(m.dims_.begin() + static_cast<ptrdiff_t>(dim));
  return m;
}

bool IndexMap::is_reshape() const {
  const Digits d(dims_);
  const int64_t n = product(source_);
  if (offset_ != 0) return false;
  if (n == 1) return d.factors.empty();
  return d.factors.size() == 1 && d.factors[0] == Factor{n, 1};
}
bool IndexMap::is_identity() const { return is_reshape() && sizes() == source_; }

std::optional<std::vector<int64_t>> IndexMap::as_permutation() const {
  if (offset_ != 0 || dims_.size() != source_.size()) return std::nullopt;
  const auto strides = ir::contiguous_strides(source_);
  std::vector<bool> used(source_.size(), false);
  std::vector<int64_t> perm;
  for (const Dims& d : dims_) {
    if (d.factors.size() > 1) return std::nullopt;
    bool found = false;
    for (size_t k = 0; k < source_.size() && !found; ++k) {
      if (used[k] ||
          !(d.factors.empty() ? source_[k] == 1 : source_[k] == d.factors[0].size && strides[k] == d.factors[0].stride))
        continue;
      used[k] = found = true;
      perm.push_back(static_cast<int64_t>(k));
    }
    if (!found) return std::nullopt;
  }
  return perm;
}

bool IndexMap::repeats() const {
  return std::any_of(dims_.begin(), dims_.end(), [](const Dims& d) {
    return std::any_of(d.factors.begin(), d.factors.end(), [](const Factor& f) { return f.stride == 0; });
  });
}
std::vector<bool> IndexMap::repeated_dims() const {
  std::vector<bool> out;
  for (const Dims& d : dims_) out.push_back(d.factors.size() == 1 && d.factors[0].stride == 0);
  return out;
}
std::optional<IndexMap> IndexMap::without_repeats() const {
  IndexMap m = *this;
  const auto only = repeated_dims();
  for (size_t d = 0; d < dims_.size(); ++d)
    if (only[d]) m.dims_[d].factors.clear();
  if (m.repeats()) return std::nullopt;
  return m;
}

// The chain with the source seen as `base` at first. Each base dim is cut into the digits that step through it; what no digit
// steps through is sliced away.
std::optional<std::vector<IndexMap::Step>> IndexMap::chain_over(const std::vector<int64_t>& base) const {
  const auto base_strides = ir::contiguous_strides(base);
  // Digits in order of the result, split where they run across base dims. `slot`: a place in the order of the result.
  struct Slot {
    Factor f;
    bool one = false;  // a result dim of size 1
  };
  std::vector<Slot> slots;
  for (const Dims& d : dims_) {
    if (d.factors.empty()) slots.push_back({{1, 0}, true});
    for (Factor f : d.factors) {
      std::vector<Factor> pieces;
      for (size_t j = base.size(); j-- > 0 && f.stride > 0;) {
        const int64_t edge = base_strides[j] * base[j];
        if (base[j] == 1 || f.stride >= edge || f.stride < base_strides[j]) continue;
        if (edge % f.stride != 0 || f.size <= edge / f.stride) break;
        const int64_t inner = edge / f.stride;
        if (f.size % inner != 0) return std::nullopt;
        pieces.push_back({inner, f.stride});
        f = {f.size / inner, edge};
      }
      slots.push_back({f});
      for (size_t k = pieces.size(); k-- > 0;) slots.push_back({pieces[k]});
    }
  }

  // The base cut into parts; each part is all of, or a slice of, one dim of the first view.
  struct Part {
    int64_t extent, start = 0, count = 1, step = 1;
    int slot = -1;
  };
  std::vector<Part> parts;
  std::vector<Step> steps;
  for (size_t j = 0; j < base.size(); ++j) {
    const int64_t unit = base_strides[j];
    const int64_t start = offset_ / unit % base[j];
    std::vector<int> inside;
    for (size_t s = 0; s < slots.size(); ++s)
      if (slots[s].f.stride > 0 && slots[s].f.stride >= unit && slots[s].f.stride < unit * base[j])
        inside.push_back(static_cast<int>(s));
    std::sort(inside.begin(), inside.end(), [&](int a, int b) {
      return slots[static_cast<size_t>(a)].f.stride > slots[static_cast<size_t>(b)].f.stride;
    });
    if (inside.empty()) {
      parts.push_back({base[j], start});
      continue;
    }
    for (int s : inside)
      if (slots[static_cast<size_t>(s)].f.stride % unit != 0) return std::nullopt;
    if (inside.size() == 1) {
      const Factor f = slots[static_cast<size_t>(inside[0])].f;
      const int64_t step = f.stride / unit;
      if (start + (f.size - 1) * step >= base[j]) return std::nullopt;
      parts.push_back({base[j], start, f.size, step, inside[0]});
      continue;
    }
    const size_t first_part = parts.size();
    int64_t left = base[j], at = start;
    for (int s : inside) {
      const Factor f = slots[static_cast<size_t>(s)].f;
      const int64_t step = f.stride / unit;
      if (step >= left || left % step != 0) return std::nullopt;
      const int64_t extent = left / step, first = at / step;
      if (first + f.size > extent) return std::nullopt;
      parts.push_back({extent, first, f.size, 1, s});
      at %= step;
      left = step;
    }
    if (left > 1) parts.push_back({left, at});
    // A range of the outermost part alone is a range of the dim, and can be taken before the view.
    Part& outer = parts[first_part];
    bool others_whole = outer.count < outer.extent && base == source_;
    for (size_t k = first_part + 1; k < parts.size(); ++k) others_whole &= parts[k].count == parts[k].extent;
    if (others_whole) {
      const int64_t inner = base[j] / outer.extent;
      steps.push_back({.kind = Step::kSlice,
                       .dim = static_cast<int64_t>(j),
                       .start = outer.start * inner,
                       .end = (outer.start + outer.count) * inner});
      outer.extent = outer.count;
      outer.start = 0;
    }
  }

  // Repeats need dims of size 1: those that slicing leaves, new ones in front that expand adds, or ones added by the first view.
  size_t repeats = 0, ones = 0, lead = 0;
  bool leading = true;
  for (const Slot& s : slots) {
    const bool repeat = !s.one && s.f.stride == 0;
    repeats += repeat;
    if (!repeat) leading = false;
    lead += leading;
  }
  for (const Part& p : parts) ones += p.slot < 0;
  if (ones < repeats && repeats - ones > lead) {
    for (size_t k = repeats - ones; k-- > 0;) parts.push_back({1});
    ones = repeats;
  }
  size_t implicit = repeats > ones ? repeats - ones : 0;
  size_t spare = ones - (repeats - implicit);  // left for result dims of size 1

  std::vector<int64_t> view;
  for (const Part& p : parts) view.push_back(p.extent);
  if (view != source_) steps.push_back({.kind = Step::kView, .values = view});
  std::vector<int64_t> now = view;
  for (size_t d = 0; d < parts.size(); ++d) {
    const Part& p = parts[d];
    if (p.start == 0 && p.count == p.extent) continue;
    steps.push_back({.kind = Step::kSlice,
                     .dim = static_cast<int64_t>(d),
                     .start = p.start,
                     .end = p.start + (p.count - 1) * p.step + 1,
                     .step = p.step});
    now[d] = p.count;
  }

  // The order of the result.
  std::vector<int64_t> free;  // parts of size 1
  std::vector<int64_t> place(slots.size(), -1);
  for (size_t d = 0; d < parts.size(); ++d) {
    if (parts[d].slot < 0)
      free.push_back(static_cast<int64_t>(d));
    else
      place[static_cast<size_t>(parts[d].slot)] = static_cast<int64_t>(d);
  }
  std::vector<int64_t> perm, wide;  // wide: sizes after expand
  size_t next_free = 0;
  bool any_repeat = false;
  for (size_t s = 0; s < slots.size(); ++s) {
    const bool repeat = !slots[s].one && slots[s].f.stride == 0;
    if (!slots[s].one && !repeat) {
      if (place[s] < 0) return std::nullopt;
      perm.push_back(place[s]);
      wide.push_back(slots[s].f.size);
    } else if (repeat) {
      any_repeat = true;
      wide.push_back(slots[s].f.size);
      if (implicit > 0) {
        --implicit;  // expand makes it
        continue;
      }
      perm.push_back(free[next_free++]);
    } else if (spare > 0) {
      --spare;
      perm.push_back(free[next_free++]);
      wide.push_back(1);
    }
  }
  // Dims of size 1 that nothing wants go in front.
  while (next_free < free.size()) {
    perm.insert(perm.begin(), free[next_free++]);
    wide.insert(wide.begin(), 1);
  }
  std::vector<int64_t> moved;
  bool in_order = true;
  for (size_t d = 0; d < perm.size(); ++d) {
    moved.push_back(now[static_cast<size_t>(perm[d])]);
    in_order &= perm[d] == static_cast<int64_t>(d);
  }
  // A permute that only moves dims of size 1 is a view.
  std::vector<int64_t> busy;
  for (int64_t d : perm)
    if (now[static_cast<size_t>(d)] != 1) busy.push_back(d);
  if (!in_order) {
    if (std::is_sorted(busy.begin(), busy.end()))
      steps.push_back({.kind = Step::kView, .values = moved});
    else
      steps.push_back({.kind = Step::kPermute, .values = perm});
  }
  if (any_repeat) steps.push_back({.kind = Step::kExpand, .values = wide});
  if (wide != sizes()) steps.push_back({.kind = Step::kView, .values = sizes()});
  // Two views in a row are one; a view to the sizes that are there is none.
  std::vector<Step> kept;
  std::vector<int64_t> have = source_;
  for (Step& s : steps) {
    if (s.kind == Step::kView && !kept.empty() && kept.back().kind == Step::kView) kept.pop_back();
    kept.push_back(std::move(s));
  }
  if (!kept.empty() && kept[0].kind == Step::kView && kept[0].values == source_) kept.erase(kept.begin());
  return kept;
}

namespace {
// A slice of one index whose dim the next view drops is a select.
void with_selects(const std::vector<int64_t>& source, std::vector<IndexMap::Step>& steps) {
  using Step = IndexMap::Step;
  std::vector<int64_t> now = source;
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    Step& s = steps[i];
    if (s.kind == Step::kSlice) {
      const auto d = static_cast<size_t>(s.dim);
      std::vector<int64_t> without = now;
      without.erase(without.begin() + s.dim);
      if (s.end - s.start == 1 && steps[i + 1].kind == Step::kView && steps[i + 1].values == without) {
        s = {.kind = Step::kSelect, .dim = s.dim, .start = s.start};
        steps.erase(steps.begin() + static_cast<ptrdiff_t>(i) + 1);
        now = std::move(without);
        continue;
      }
      now[d] = (s.end - s.start + s.step - 1) / s.step;
    } else if (s.kind == Step::kPermute) {
      std::vector<int64_t> to;
      for (int64_t d : s.values) to.push_back(now[static_cast<size_t>(d)]);
      now = std::move(to);
    } else {
      now = s.values;
    }
  }
}
}  // namespace

std::optional<std::vector<IndexMap::Step>> IndexMap::chain() const {
  if (product(source_) == 0) return std::nullopt;
  if (is_identity()) return std::vector<Step>{};
  if (is_reshape()) return std::vector<Step>{{.kind = Step::kView, .values = sizes()}};
  // Whole dims that run backwards are turned round at the end.
  IndexMap forward = *this;
  std::vector<int64_t> flipped;
  for (size_t d = 0; d < dims_.size(); ++d) {
    const auto backwards = [](const Factor& f) { return f.stride < 0; };
    const auto& fs = dims_[d].factors;
    if (std::none_of(fs.begin(), fs.end(), backwards)) continue;
    if (!std::all_of(fs.begin(), fs.end(), backwards)) return std::nullopt;
    forward.reverse(d);
    flipped.push_back(static_cast<int64_t>(d));
  }
  if (!flipped.empty()) {
    auto steps = forward.chain();
    if (steps) steps->push_back({.kind = Step::kFlip, .values = flipped});
    return steps;
  }
  auto natural = chain_over(source_);
  auto flat = chain_over({product(source_)});
  auto& best = !natural || (flat && flat->size() < natural->size()) ? flat : natural;
  if (best) with_selects(source_, *best);
  return best;
}

ir::Value* build(Builder& b, ir::Value* v, const std::vector<IndexMap::Step>& steps) {
  for (const IndexMap::Step& s : steps) {
    switch (s.kind) {
      case IndexMap::Step::kView: v = b("aten.view", {v, ir::Arg::ints(s.values)}); break;
      case IndexMap::Step::kSlice:
        v = s.step == 1 ? b("aten.slice.Tensor", {v, s.dim, s.start, s.end})
                        : b("aten.slice.Tensor", {v, s.dim, s.start, s.end, s.step});
        break;
      case IndexMap::Step::kPermute: v = b("aten.permute", {v, ir::Arg::ints(s.values)}); break;
      case IndexMap::Step::kExpand: v = b("aten.expand", {v, ir::Arg::ints(s.values)}); break;
      case IndexMap::Step::kSelect: v = b("aten.select.int", {v, s.dim, s.start}); break;
      case IndexMap::Step::kFlip: v = b("aten.flip", {v, ir::Arg::ints(s.values)}); break;
    }
  }
  return v;
}

}  // namespace edgewright::ops
