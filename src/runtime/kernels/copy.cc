// src/runtime/kernels/copy.cc - data movement: every output element is one input element (or a fill value). Most are a view
// of the input by strides and an offset, copied.
#include "runtime/kernels/common.h"
#include "runtime/kernels/tables.h"

namespace edgewright::runtime {
namespace {

bool convertible(const Tensor& a, const Tensor& b) { return a.dtype == b.dtype || plain({&a, &b}); }

// Copies all of `x` in C order into `out`, which has as many elements but maybe another shape.
void copy_linear(Call& c, Tensor& out, const Tensor& x) {
  const bool same_shape =
      x.rank == out.rank && std::equal(x.sizes.begin(), x.sizes.begin() + x.rank, out.sizes.begin());
  if (same_shape) return copy_view(c.pool(), out, x, 0, x.strides);
  if (x.contiguous()) return copy_view(c.pool(), out, x, 0, dense_strides(out.shape()));
  if (out.contiguous()) {
    Tensor as_x = x;  // the output seen in the input's shape
    as_x.data = out.data;
    as_x.dtype = out.dtype;
    as_x.strides = dense_strides(x.shape());
    return copy_view(c.pool(), as_x, x, 0, x.strides);
  }
  // Neither is in C order: element by element.
  const auto item = static_cast<int64_t>(size_of(x.dtype));
  const Strides sx = dense_strides(x.shape()), so = dense_strides(out.shape());
  for (int64_t i = 0, n = x.numel(); i < n; ++i) {
    int64_t from = 0, to = 0;
    for (size_t d = 0; d < x.rank; ++d) from += i / sx[d] % x.sizes[d] * x.strides[d];
    for (size_t d = 0; d < out.rank; ++d) to += i / so[d] % out.sizes[d] * out.strides[d];
    if (x.dtype == out.dtype)
      std::memcpy(out.data + to * item, x.data + from * item, static_cast<size_t>(item));
    else if (compute_of(out.dtype) == Compute::kInt && compute_of(x.dtype) == Compute::kInt)
      store_one<int64_t>(out, to, load_one<int64_t>(x, from));
    else
      store_one<double>(out, to, load_one<double>(x, from));
  }
}

// Same shape, converted: clone, copies of every kind. The output is the argument `at`.
template <size_t at>
Result<void> clone(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(at);
  EW_TRY(c.ok());
  if (!convertible(x, out)) return c.unsupported(x.dtype);
  EW_TRY(c.resize(out, x.shape()));
  copy_view(c.pool(), out, x, 0, x.strides);
  return {};
}

// copy(self, src): src broadcast to self's shape.
Result<void> copy_into(Call& c, const Tensor& self, const Tensor& src, Tensor& out) {
  EW_TRY(c.ok());
  if (!convertible(src, out)) return c.unsupported(src.dtype);
  Shape s = shape_of(self);
  if (!broadcast(s, src) || s.rank != self.rank || !std::equal(self.shape().begin(), self.shape().end(), s.v.begin()))
    return c.fail(Code::kUsage, "the source does not broadcast to the destination");
  EW_TRY(c.resize(out, self.shape()));
  copy_view(c.pool(), out, src, 0, broadcast_strides(src, out.shape()));
  return {};
}
Result<void> copy(Call& c) { return copy_into(c, c.in(0), c.in(1), c.out(3)); }
Result<void> copy_inplace(Call& c) { return copy_into(c, c.in(0), c.in(1), c.out(0)); }

// A size list with at most one -1, for x's elements.
Result<Shape> view_shape(Call& c, const Call::Ints& sizes, int64_t numel) {
  Shape s;
  s.rank = sizes.size();
  s.v = sizes.v;
  int64_t known = 1;
  int open = -1;
  for (size_t d = 0; d < s.rank; ++d) {
    if (s[d] == -1 && open < 0)
      open = static_cast<int>(d);
    else if (s[d] < 0)
      return c.fail(Code::kUsage, "no shape: [{}]", fmt::join(sizes.span(), ", "));
    else
      known = checked_mul(known, s[d]).value_or(-1);
  }
  if (known < 0 || (open < 0 ? known != numel : known == 0 || numel % known != 0))
    return c.fail(Code::kUsage, "{} elements do not have the shape [{}]", numel, fmt::join(sizes.span(), ", "));
  if (open >= 0) s[static_cast<size_t>(open)] = numel / known;
  return s;
}

Result<void> view(Call& c) {
  const Tensor& x = c.in(0);
  const auto sizes = c.ints(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (!convertible(x, out)) return c.unsupported(x.dtype);
  EW_ASSIGN(const Shape s, view_shape(c, sizes, x.numel()));
  EW_TRY(c.resize(out, s.span()));
  copy_linear(c, out, x);
  return {};
}

// Finishes a kernel whose output is a strided view of x.
Result<void> strided(Call& c, const Tensor& x, Tensor& out, const Shape& shape, int64_t offset,
                     const Strides& strides) {
  EW_TRY(c.ok());
  if (!convertible(x, out)) return c.unsupported(x.dtype);
  EW_TRY(c.resize(out, shape.span()));
  copy_view(c.pool(), out, x, offset, strides);
  return {};
}

Result<void> permute(Call& c) {
  const Tensor& x = c.in(0);
  const auto dims = c.ints(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (dims.size() != x.rank) return c.fail(Code::kUsage, "a permutation of {} dimensions of {}", dims.size(), x.rank);
  Shape s;
  s.rank = x.rank;
  Strides st{};
  uint32_t seen = 0;
  for (size_t d = 0; d < x.rank; ++d) {
    const size_t from = c.axis_of(dims[d], x.rank);
    if (seen & (1u << from)) return c.fail(Code::kUsage, "no permutation");
    seen |= 1u << from;
    s[d] = x.sizes[from];
    st[d] = x.strides[from];
  }
  return strided(c, x, out, s, 0, st);
}

Result<void> swap_dims(Call& c, size_t a, size_t b, size_t out_at) {
  const Tensor& x = c.in(0);
  Shape s = shape_of(x);
  Strides st = x.strides;
  std::swap(s[a], s[b]);
  std::swap(st[a], st[b]);
  return strided(c, x, c.out(out_at), s, 0, st);
}
Result<void> transpose(Call& c) {
  const size_t rank = c.in(0).rank;
  return swap_dims(c, c.axis(1, rank), c.axis(2, rank), 3);
}
Result<void> t(Call& c) {
  if (c.in(0).rank > 2) return c.fail(Code::kUsage, "t of {} dimensions", c.in(0).rank);
  return swap_dims(c, 0, c.in(0).rank == 2 ? 1 : 0, 1);
}

Result<void> select(Call& c) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(1, x.rank);
  int64_t i = c.integer(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (x.rank == 0) return c.fail(Code::kUsage, "select of a scalar");
  if (i < 0) i += x.sizes[dim];
  if (i < 0 || i >= x.sizes[dim]) return c.fail(Code::kUsage, "index {} of {}", i, x.sizes[dim]);
  Shape s;
  Strides st{};
  for (size_t d = 0; d < x.rank; ++d) {
    if (d == dim) continue;
    st[s.rank] = x.strides[d];
    s[s.rank++] = x.sizes[d];
  }
  return strided(c, x, out, s, i * x.strides[dim], st);
}

struct Slice {
  int64_t start, length, step;
};
// start?, end?, step at arguments `at`... of a dimension of `size`.
Result<Slice> slice_of(Call& c, size_t at, int64_t size) {
  int64_t start = c.integer_or(at, 0), end = c.integer_or(at + 1, INT64_MAX);
  const int64_t step = c.integer_or(at + 2, 1);
  EW_TRY(c.ok());
  if (step <= 0) return c.fail(Code::kUsage, "step {}", step);
  const auto inside = [size](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + size : v, 0, size); };
  start = inside(start);
  end = std::max(start, inside(end));
  return Slice{start, (end - start + step - 1) / step, step};
}

Result<void> slice(Call& c) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(1, x.rank);
  Tensor& out = c.out(5);
  EW_TRY(c.ok());
  if (x.rank == 0) return c.fail(Code::kUsage, "slice of a scalar");
  EW_ASSIGN(const Slice sl, slice_of(c, 2, x.sizes[dim]));
  Shape s = shape_of(x);
  Strides st = x.strides;
  s[dim] = sl.length;
  st[dim] *= sl.step;
  return strided(c, x, out, s, sl.start * x.strides[dim], st);
}

Result<void> narrow(Call& c) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(1, x.rank);
  int64_t start = c.integer(2);
  const int64_t length = c.integer(3);
  Tensor& out = c.out(4);
  EW_TRY(c.ok());
  if (start < 0) start += x.sizes[dim];
  if (x.rank == 0 || start < 0 || length < 0 || start > x.sizes[dim] - length)
    return c.fail(Code::kUsage, "{} elements from {}", length, start);
  Shape s = shape_of(x);
  s[dim] = length;
  return strided(c, x, out, s, start * x.strides[dim], x.strides);
}

// The part of `x` that a select or slice of it names, as a tensor to write through.
Tensor part(const Tensor& x, size_t dim, const Slice& sl, bool drop) {
  Tensor p = x;
  p.data += sl.start * x.strides[dim] * static_cast<int64_t>(size_of(x.dtype));
  p.sizes[dim] = sl.length;
  p.strides[dim] *= sl.step;
  if (drop) {
    for (size_t d = dim; d + 1 < x.rank; ++d) {
      p.sizes[d] = p.sizes[d + 1];
      p.strides[d] = p.strides[d + 1];
    }
    --p.rank;
  }
  return p;
}

Result<void> scatter_part(Call& c, const Tensor& x, const Tensor& src, Tensor& out, size_t dim, const Slice& sl,
                          bool drop) {
  if (!convertible(x, out) || !convertible(src, out)) return c.unsupported(src.dtype);
  EW_TRY(c.resize(out, x.shape()));
  Tensor p = part(out, dim, sl, drop);
  Shape s = shape_of(p);
  if (!broadcast(s, src) || s.rank != p.rank ||
      !std::equal(s.v.begin(), s.v.begin() + static_cast<int64_t>(s.rank), p.sizes.begin()))
    return c.fail(Code::kUsage, "the source does not fit its place");
  copy_view(c.pool(), out, x, 0, x.strides);
  copy_view(c.pool(), p, src, 0, broadcast_strides(src, p.shape()));
  return {};
}
Result<void> select_scatter(Call& c) {
  const Tensor &x = c.in(0), &src = c.in(1);
  const size_t dim = c.axis(2, x.rank);
  int64_t i = c.integer(3);
  Tensor& out = c.out(4);
  EW_TRY(c.ok());
  if (i < 0) i += x.sizes[dim];
  if (x.rank == 0 || i < 0 || i >= x.sizes[dim]) return c.fail(Code::kUsage, "index {}", i);
  return scatter_part(c, x, src, out, dim, {i, 1, 1}, true);
}
Result<void> slice_scatter(Call& c) {
  const Tensor &x = c.in(0), &src = c.in(1);
  const size_t dim = c.axis(2, x.rank);
  Tensor& out = c.out(6);
  EW_TRY(c.ok());
  if (x.rank == 0) return c.fail(Code::kUsage, "slice of a scalar");
  EW_ASSIGN(const Slice sl, slice_of(c, 3, x.sizes[dim]));
  return scatter_part(c, x, src, out, dim, sl, false);
}

Result<void> expand(Call& c) {
  const Tensor& x = c.in(0);
  const auto sizes = c.ints(1);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (sizes.size() < x.rank) return c.fail(Code::kUsage, "{} dimensions from {}", sizes.size(), x.rank);
  Shape s;
  s.rank = sizes.size();
  for (size_t d = 0; d < s.rank; ++d) {
    const size_t lead = s.rank - x.rank;
    const int64_t have = d < lead ? 1 : x.sizes[d - lead];
    s[d] = sizes[d] == -1 && d >= lead ? have : sizes[d];
    if (s[d] < 0 || (have != 1 && s[d] != have)) return c.fail(Code::kUsage, "size {} from {}", sizes[d], have);
  }
  return strided(c, x, out, s, 0, broadcast_strides(x, s.span()));
}

Result<void> unsqueeze(Call& c) {
  const Tensor& x = c.in(0);
  if (x.rank == kMaxRank) return c.fail(Code::kUnsupported, "more than {} dimensions", kMaxRank);
  const size_t dim = c.axis(1, x.rank + size_t{1});
  Shape s;
  Strides st{};
  for (size_t d = 0; d <= x.rank; ++d) {
    st[s.rank] = d == dim ? 0 : x.strides[d - (d > dim)];
    s[s.rank++] = d == dim ? 1 : x.sizes[d - (d > dim)];
  }
  return strided(c, x, c.out(2), s, 0, st);
}

Result<void> squeeze(Call& c) {
  const Tensor& x = c.in(0);
  const auto dims = c.ints(1);
  uint32_t drop = 0;
  for (size_t i = 0; i < dims.size(); ++i) drop |= 1u << c.axis_of(dims[i], x.rank);
  Shape s;
  Strides st{};
  for (size_t d = 0; d < x.rank; ++d) {
    if ((drop & (1u << d)) && x.sizes[d] == 1) continue;
    st[s.rank] = x.strides[d];
    s[s.rank++] = x.sizes[d];
  }
  return strided(c, x, c.out(2), s, 0, st);
}

// Outputs in a list, each a slice of x along dim; sizes(k) is the k-th length.
template <class F>
Result<void> split_by(Call& c, size_t dim, size_t list, F&& length) {
  const Tensor& x = c.in(0);
  int64_t at = 0;
  const size_t n = c.list_size(list);
  EW_TRY(c.ok());
  if (x.rank == 0) return c.fail(Code::kUsage, "split of a scalar");
  for (size_t k = 0; k < n; ++k) {
    Tensor& out = c.list_out(list, k);
    Shape s = shape_of(x);
    s[dim] = length(k, at);
    if (s[dim] < 0 || s[dim] > x.sizes[dim] - at)
      return c.fail(Code::kUsage, "the pieces are longer than the dimension");
    EW_TRY(strided(c, x, out, s, at * x.strides[dim], x.strides));
    at += s[dim];
  }
  if (at != x.sizes[dim]) return c.fail(Code::kUsage, "the pieces do not fill the dimension");
  return {};
}
Result<void> split(Call& c) {
  const Tensor& x = c.in(0);
  const int64_t size = c.integer(1);
  const size_t dim = c.axis(2, x.rank);
  if ((size < 0 || (size == 0 && x.sizes[dim] != 0)) && !c.bad()) return c.fail(Code::kUsage, "pieces of {}", size);
  return split_by(c, dim, 3, [&](size_t, int64_t at) { return std::min(size, x.sizes[dim] - at); });
}
Result<void> split_with_sizes(Call& c) {
  const Tensor& x = c.in(0);
  const auto sizes = c.ints(1);
  const size_t dim = c.axis(2, x.rank);
  if (c.list_size(3) != sizes.size())
    return c.fail(Code::kUsage, "{} sizes for {} outputs", sizes.size(), c.list_size(3));
  return split_by(c, dim, 3, [&](size_t k, int64_t) { return sizes[k]; });
}
Result<void> unbind(Call& c) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(1, x.rank);
  EW_TRY(c.ok());
  const size_t n = c.list_size(2);
  if (x.rank == 0 || static_cast<int64_t>(n) != x.sizes[dim])
    return c.fail(Code::kUsage, "{} outputs for {} pieces", n, x.rank ? x.sizes[dim] : 0);
  for (size_t k = 0; k < n; ++k) {
    const Tensor p = part(x, dim, {static_cast<int64_t>(k), 1, 1}, true);
    Tensor& out = c.list_out(2, k);
    EW_TRY(strided(c, p, out, shape_of(p), 0, p.strides));
  }
  return {};
}

Result<void> cat(Call& c) {
  const size_t n = c.list_size(0);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  // A 1-d empty tensor joins anything.
  const auto skipped = [](const Tensor& t) { return t.rank == 1 && t.sizes[0] == 0; };
  const Tensor* model = nullptr;
  for (size_t k = 0; k < n; ++k) {
    const Tensor* x = c.list_in(0, k);
    EW_TRY(c.ok());
    if (!x) return c.fail(Code::kMalformed, "an absent tensor");
    if (!model || skipped(*model)) model = x;
  }
  if (!model) return c.fail(Code::kUsage, "nothing to join");
  const size_t dim = c.axis(1, model->rank);
  EW_TRY(c.ok());
  if (model->rank == 0) return c.fail(Code::kUsage, "scalars do not join");
  Shape s = shape_of(*model);
  s[dim] = 0;
  for (size_t k = 0; k < n; ++k) {
    const Tensor& x = *c.list_in(0, k);
    if (skipped(x) && model->rank != 1) continue;
    bool fits = x.rank == model->rank;
    for (size_t d = 0; fits && d < x.rank; ++d) fits = d == dim || x.sizes[d] == model->sizes[d];
    if (!fits)
      return c.fail(Code::kUsage, "shapes do not join: [{}] and [{}]", fmt::join(model->shape(), ", "),
                    fmt::join(x.shape(), ", "));
    if (!convertible(x, out)) return c.unsupported(x.dtype);
    s[dim] += x.sizes[dim];
  }
  EW_TRY(c.resize(out, s.span()));
  int64_t at = 0;
  for (size_t k = 0; k < n; ++k) {
    const Tensor& x = *c.list_in(0, k);
    if (skipped(x)) continue;
    Tensor p = part(out, dim, {at, x.sizes[dim], 1}, false);
    copy_view(c.pool(), p, x, 0, x.strides);
    at += x.sizes[dim];
  }
  return {};
}

Result<void> stack(Call& c) {
  const size_t n = c.list_size(0);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  const Tensor* first = n > 0 ? c.list_in(0, 0) : nullptr;
  if (!first) return c.fail(Code::kUsage, "nothing to stack");
  if (first->rank == kMaxRank) return c.fail(Code::kUnsupported, "more than {} dimensions", kMaxRank);
  const size_t dim = c.axis(1, first->rank + size_t{1});
  EW_TRY(c.ok());
  Shape s;
  for (size_t d = 0; d <= first->rank; ++d)
    s[s.rank++] = d == dim ? static_cast<int64_t>(n) : first->sizes[d - (d > dim)];
  EW_TRY(c.resize(out, s.span()));
  for (size_t k = 0; k < n; ++k) {
    const Tensor* x = c.list_in(0, k);
    EW_TRY(c.ok());
    if (!x || x->rank != first->rank || !std::equal(x->shape().begin(), x->shape().end(), first->sizes.begin()))
      return c.fail(Code::kUsage, "shapes differ");
    if (!convertible(*x, out)) return c.unsupported(x->dtype);
    Tensor p = part(out, dim, {static_cast<int64_t>(k), 1, 1}, true);
    copy_view(c.pool(), p, *x, 0, x->strides);
  }
  return {};
}

Result<void> flip(Call& c) {
  const Tensor& x = c.in(0);
  const auto dims = c.ints(1);
  Strides st = x.strides;
  int64_t offset = 0;
  uint32_t seen = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t d = c.axis_of(dims[i], x.rank);
    if (x.rank == 0 || (seen & (1u << d)) || x.sizes[d] == 0) continue;
    seen |= 1u << d;
    offset += (x.sizes[d] - 1) * x.strides[d];
    st[d] = -x.strides[d];
  }
  return strided(c, x, c.out(2), shape_of(x), offset, st);
}

Result<void> repeat(Call& c) {
  const Tensor& x = c.in(0);
  const auto times = c.ints(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (times.size() < x.rank) return c.fail(Code::kUsage, "{} repeats for {} dimensions", times.size(), x.rank);
  if (!convertible(x, out)) return c.unsupported(x.dtype);
  // A shape with twice the dims: [times, size] pairs, seen as the output.
  if (times.size() + x.rank > kMaxRank) return c.fail(Code::kUnsupported, "more than {} dimensions", kMaxRank);
  const size_t lead = times.size() - x.rank;
  Shape s;
  s.rank = times.size();
  for (size_t d = 0; d < s.rank; ++d) {
    const auto n = checked_mul(times[d], d < lead ? 1 : x.sizes[d - lead]);
    if (times[d] < 0 || !n) return c.fail(Code::kUsage, "repeated {} times", times[d]);
    s[d] = *n;
  }
  EW_TRY(c.resize(out, s.span()));
  Tensor wide = out;
  Strides from{};
  wide.rank = 0;
  for (size_t d = 0; d < s.rank; ++d) {
    const int64_t size = d < lead ? 1 : x.sizes[d - lead];
    wide.sizes[wide.rank] = times[d];
    wide.strides[wide.rank++] = out.strides[d] * size;
    if (d < lead) continue;
    from[wide.rank] = x.strides[d - lead];
    wide.sizes[wide.rank] = size;
    wide.strides[wide.rank++] = out.strides[d];
  }
  copy_view(c.pool(), wide, x, 0, from);
  return {};
}

Result<void> roll(Call& c) {
  const Tensor& x = c.in(0);
  const auto shifts = c.ints(1), dims = c.ints(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (x.dtype != out.dtype) return c.unsupported(out.dtype);
  EW_TRY(c.resize(out, x.shape()));
  if (x.numel() == 0) return {};
  std::array<int64_t, kMaxRank> shift{};
  int64_t flat = 0;
  if (dims.empty()) {
    if (shifts.size() != 1) return c.fail(Code::kUsage, "{} shifts of a flattened tensor", shifts.size());
    flat = ((shifts[0] % x.numel()) + x.numel()) % x.numel();
    const Strides sx = dense_strides(x.shape());
    const auto item = size_of(x.dtype);
    for (int64_t i = 0, n = x.numel(); i < n; ++i) {
      const int64_t j = (i + flat) % n;
      int64_t from = 0, to = 0;
      for (size_t d = 0; d < x.rank; ++d) {
        from += i / sx[d] % x.sizes[d] * x.strides[d];
        to += j / sx[d] % x.sizes[d] * out.strides[d];
      }
      std::memcpy(out.data + static_cast<size_t>(to) * item, x.data + static_cast<size_t>(from) * item, item);
    }
    return {};
  }
  if (dims.size() != shifts.size())
    return c.fail(Code::kUsage, "{} shifts of {} dimensions", shifts.size(), dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t d = c.axis_of(dims[i], x.rank);
    EW_TRY(c.ok());
    if (x.rank > 0) shift[d] = (((shift[d] + shifts[i]) % x.sizes[d]) + x.sizes[d]) % x.sizes[d];
  }
  // Each dim splits in two pieces: 2^rolled copies of blocks.
  size_t rolled[kMaxRank], k = 0;
  for (size_t d = 0; d < x.rank; ++d)
    if (shift[d] != 0) rolled[k++] = d;
  for (uint32_t mask = 0; mask < (1u << k); ++mask) {
    Tensor from = x, to = out;
    for (size_t i = 0; i < k; ++i) {
      const size_t d = rolled[i];
      const int64_t s = shift[d], n = x.sizes[d];
      const bool tail = mask & (1u << i);  // the end of the input comes to the front
      from = part(from, d, {tail ? n - s : 0, tail ? s : n - s, 1}, false);
      to = part(to, d, {tail ? 0 : s, tail ? s : n - s, 1}, false);
    }
    copy_view(c.pool(), to, from, 0, from.strides);
  }
  return {};
}

Result<void> diagonal(Call& c) {
  const Tensor& x = c.in(0);
  const int64_t offset = c.integer(1);
  const size_t a = c.axis(2, x.rank), b = c.axis(3, x.rank);
  Tensor& out = c.out(4);
  EW_TRY(c.ok());
  if (x.rank < 2 || a == b) return c.fail(Code::kUsage, "no two dimensions");
  Shape s;
  Strides st{};
  for (size_t d = 0; d < x.rank; ++d) {
    if (d == a || d == b) continue;
    st[s.rank] = x.strides[d];
    s[s.rank++] = x.sizes[d];
  }
  // An offset beyond the matrix gives an empty diagonal.
  const int64_t o = std::clamp(offset, -x.sizes[a], x.sizes[b]);
  st[s.rank] = x.strides[a] + x.strides[b];
  s[s.rank++] = o >= 0 ? std::min(x.sizes[a], x.sizes[b] - o) : std::min(x.sizes[a] + o, x.sizes[b]);
  return strided(c, x, out, s, o >= 0 ? o * x.strides[b] : -o * x.strides[a], st);
}

// as_strided(self, size, stride, storage_offset?): the view must stay inside of the tensor's own elements.
Result<void> as_strided(Call& c) {
  const Tensor& x = c.in(0);
  const auto size = c.ints(1), stride = c.ints(2);
  const int64_t offset = c.integer_or(3, 0);
  Tensor& out = c.out(4);
  EW_TRY(c.ok());
  if (size.size() != stride.size()) return c.fail(Code::kUsage, "{} sizes, {} strides", size.size(), stride.size());
  Shape s;
  Strides st{};
  s.rank = size.size();
  int64_t last = offset;
  bool empty = false;
  for (size_t d = 0; d < s.rank; ++d) {
    s[d] = size[d];
    st[d] = stride[d];
    empty = empty || size[d] == 0;
    const auto reach = checked_mul(size[d] - 1, stride[d]);
    const auto sum = reach ? checked_add(last, *reach) : std::nullopt;
    if (size[d] < 0 || stride[d] < 0 || (!sum && size[d] > 0))
      return c.fail(Code::kUsage, "size {} with stride {}", size[d], stride[d]);
    if (size[d] > 0) last = *sum;
  }
  if (offset < 0 || (!empty && last >= x.numel())) return c.fail(Code::kUsage, "the view reaches beyond the tensor");
  return strided(c, x, out, s, offset, st);
}

Result<void> unfold(Call& c) {
  Tensor x = c.in(0);
  if (x.rank == 0) {  // one window over one element
    x.rank = 1;
    x.sizes[0] = x.strides[0] = 1;
  }
  const bool scalar = c.in(0).rank == 0;
  const size_t dim = c.axis(1, x.rank);
  const int64_t size = c.integer(2), step = c.integer(3);
  Tensor& out = c.out(4);
  EW_TRY(c.ok());
  if (x.rank == kMaxRank) return c.fail(Code::kUnsupported, "{} dimensions", x.rank);
  if (size < 0 || step <= 0 || size > x.sizes[dim]) return c.fail(Code::kUsage, "windows of {} by {}", size, step);
  Shape s = shape_of(x);
  Strides st = x.strides;
  s[dim] = (x.sizes[dim] - size) / step + 1;
  st[dim] *= step;
  st[s.rank] = x.strides[dim];
  s[s.rank++] = size;
  if (scalar) {
    s.rank = 1;
    s[0] = size;
  }
  return strided(c, x, out, s, 0, st);
}

// pixel_shuffle and its inverse: a transpose of a 6-d view.
template <bool inverse>
Result<void> pixel_shuffle(Call& c) {
  const Tensor& x = c.in(0);
  const int64_t r = c.integer(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (x.rank < 3 || x.rank + 2 > static_cast<int>(kMaxRank)) return c.fail(Code::kUsage, "{} dimensions", x.rank);
  if (x.dtype != out.dtype) return c.unsupported(out.dtype);
  const size_t cd = x.rank - size_t{3}, hd = cd + 1, wd = cd + 2;
  if (r <= 0 || r > 1 << 15 || (inverse ? x.sizes[hd] % r != 0 || x.sizes[wd] % r != 0 : x.sizes[cd] % (r * r) != 0))
    return c.fail(Code::kUsage, "factor {} of [{}]", r, fmt::join(x.shape(), ", "));
  Shape s = shape_of(x);
  s[cd] = inverse ? x.sizes[cd] * r * r : x.sizes[cd] / (r * r);
  s[hd] = inverse ? x.sizes[hd] / r : x.sizes[hd] * r;
  s[wd] = inverse ? x.sizes[wd] / r : x.sizes[wd] * r;
  EW_TRY(c.resize(out, s.span()));
  // Seen with dims [..., channel, r (rows), r (columns), height, width] of the side with fewer pixels.
  const auto six = [&](const Tensor& small, const Tensor& large, bool of_small) {
    Tensor v = of_small ? small : large;
    const auto& st = v.strides;
    const std::array<int64_t, 5> strides =
        of_small ? std::array<int64_t, 5>{st[cd] * r * r, st[cd] * r, st[cd], st[hd], st[wd]}
                 : std::array<int64_t, 5>{st[cd], st[hd], st[wd], st[hd] * r, st[wd] * r};
    const std::array<int64_t, 5> sizes = {large.sizes[cd], r, r, small.sizes[hd], small.sizes[wd]};
    for (size_t i = 0; i < 5; ++i) {
      v.sizes[cd + i] = sizes[i];
      v.strides[cd + i] = strides[i];
    }
    v.rank = static_cast<uint8_t>(cd + 5);
    return v;
  };
  const Tensor &small = inverse ? out : x, &large = inverse ? x : out;
  Tensor to = six(small, large, inverse);
  const Tensor from = six(small, large, !inverse);
  copy_view(c.pool(), to, from, 0, from.strides);
  return {};
}

// --- padding ---

// constant_pad_nd(self, pad, value): pad counts from the last dimension; negative pads crop.
Result<void> constant_pad(Call& c) {
  const Tensor& x = c.in(0);
  const auto pad = c.ints(1);
  const EValue& value = c.scalar(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (pad.size() % 2 != 0 || pad.size() / 2 > x.rank)
    return c.fail(Code::kUsage, "{} paddings for {} dimensions", pad.size(), x.rank);
  if (!plain({&x, &out}) || x.dtype != out.dtype) return c.unsupported(x.dtype);
  Shape s = shape_of(x);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    int64_t& n = s[x.rank - 1 - i];
    n = checked_add(n, checked_add(pad[2 * i], pad[2 * i + 1]).value_or(INT64_MIN)).value_or(-1);
    if (n < 0) return c.fail(Code::kUsage, "padding makes a dimension negative");
  }
  EW_TRY(c.resize(out, s.span()));
  Tensor to = out, from = x;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t d = x.rank - 1 - i;
    const int64_t before = pad[2 * i], crop = std::max<int64_t>(-before, 0),
                  crop_after = std::max<int64_t>(-pad[2 * i + 1], 0);
    const int64_t length = std::max<int64_t>(x.sizes[d] - crop - crop_after, 0);
    to = part(to, d, {std::max<int64_t>(before, 0), length, 1}, false);
    from = part(from, d, {crop, length, 1}, false);
  }
  visit_compute(compute_of(out.dtype), [&]<class C>(C) {
    const C v = scalar_as<C>(value, out.dtype);
    map<C, 0>(c.pool(), out, {}, [v] { return v; });
  });
  copy_view(c.pool(), to, from, 0, from.strides);
  return {};
}

// reflection and replication pads of the last N dims: a gather with one index list per dim.
template <size_t N, bool reflect>
Result<void> edge_pad(Call& c) {
  const Tensor& x = c.in(0);
  const auto pad = c.ints(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (pad.size() != 2 * N || x.rank < N || x.rank > N + 2)
    return c.fail(Code::kUsage, "{} paddings for {} dimensions", pad.size(), x.rank);
  if (x.dtype != out.dtype) return c.unsupported(out.dtype);
  Shape s = shape_of(x);
  for (size_t i = 0; i < N; ++i) {
    const size_t d = x.rank - 1 - i;
    const int64_t n = x.sizes[d], a = pad[2 * i], b = pad[2 * i + 1];
    constexpr int64_t kMost = int64_t{1} << 40;
    if (n == 0 || a <= -n || b <= -n || a + b + n <= 0 || a > kMost || b > kMost || (reflect && (a >= n || b >= n)))
      return c.fail(Code::kUsage, "padding {}, {} of {} elements", a, b, n);
    s[d] = n + a + b;
  }
  EW_TRY(c.resize(out, s.span()));
  const auto source = [&](size_t i, int64_t at) {  // the input's index along the i-th last dim
    const int64_t n = x.sizes[x.rank - 1 - i];
    at -= pad[2 * i];
    if (!reflect) return std::clamp<int64_t>(at, 0, n - 1);
    if (at < 0) at = -at;
    return at >= n ? 2 * (n - 1) - at : at;
  };
  const size_t item = size_of(x.dtype);
  const Strides dense = dense_strides(out.shape());
  parallel_for(c.pool(), out.numel(), 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t from = 0, to = 0;
      for (size_t d = 0; d < out.rank; ++d) {
        const int64_t at = i / dense[d] % out.sizes[d];
        to += at * out.strides[d];
        from += (d + N >= x.rank ? source(x.rank - 1 - d, at) : at) * x.strides[d];
      }
      std::memcpy(out.data + static_cast<size_t>(to) * item, x.data + static_cast<size_t>(from) * item, item);
    }
  });
  return {};
}

// tril and triu: the rest becomes zero.
template <bool lower>
Result<void> triangle(Call& c) {
  const Tensor& x = c.in(0);
  const int64_t k = c.integer(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (x.rank < 2) return c.fail(Code::kUsage, "no matrix");
  if (x.dtype != out.dtype) return c.unsupported(out.dtype);
  EW_TRY(c.resize(out, x.shape()));
  const size_t item = size_of(x.dtype), r = x.rank - size_t{2}, q = x.rank - size_t{1};
  const Nest<2> nest({x.sizes.data(), r}, {x.strides, out.strides});
  nest.run(0, nest.total, [&](const std::array<int64_t, 2>& at, int64_t n) {
    for (int64_t m = 0; m < n; ++m)
      for (int64_t i = 0; i < x.sizes[r]; ++i)
        for (int64_t j = 0; j < x.sizes[q]; ++j) {
          const int64_t from = at[0] + m * nest.strides[nest.rank - 1][0] + i * x.strides[r] + j * x.strides[q];
          const int64_t to = at[1] + m * nest.strides[nest.rank - 1][1] + i * out.strides[r] + j * out.strides[q];
          if (lower ? j - i <= k : j - i >= k)
            std::memcpy(out.data + static_cast<size_t>(to) * item, x.data + static_cast<size_t>(from) * item, item);
          else
            std::memset(out.data + static_cast<size_t>(to) * item, 0, item);
        }
  });
  return {};
}

constexpr Kernel kTable[] = {
    {"aten::_conj_physical.out", clone<1>},
    {"aten::_to_copy.out", clone<3>},
    {"aten::alias_copy.out", clone<1>},
    {"aten::as_strided_copy.out", as_strided},
    {"aten::cat.out", cat},
    {"aten::clone.out", clone<2>},
    {"aten::constant_pad_nd.out", constant_pad},
    {"aten::copy.out", copy},
    {"aten::copy_", copy_inplace},
    {"aten::detach_copy.out", clone<1>},
    {"aten::diagonal_copy.out", diagonal},
    {"aten::expand_copy.out", expand},
    {"aten::flip.out", flip},
    {"aten::lift_fresh_copy.out", clone<1>},
    {"aten::narrow_copy.out", narrow},
    {"aten::permute_copy.out", permute},
    {"aten::pixel_shuffle.out", pixel_shuffle<false>},
    {"aten::pixel_unshuffle.out", pixel_shuffle<true>},
    {"aten::reflection_pad1d.out", edge_pad<1, true>},
    {"aten::reflection_pad2d.out", edge_pad<2, true>},
    {"aten::reflection_pad3d.out", edge_pad<3, true>},
    {"aten::repeat.out", repeat},
    {"aten::replication_pad1d.out", edge_pad<1, false>},
    {"aten::replication_pad2d.out", edge_pad<2, false>},
    {"aten::replication_pad3d.out", edge_pad<3, false>},
    {"aten::roll.out", roll},
    {"aten::select_copy.int_out", select},
    {"aten::select_scatter.out", select_scatter},
    {"aten::slice_copy.Tensor_out", slice},
    {"aten::slice_scatter.out", slice_scatter},
    {"aten::split_copy.Tensor_out", split},
    {"aten::split_with_sizes_copy.out", split_with_sizes},
    {"aten::squeeze_copy.dim_out", squeeze},
    {"aten::squeeze_copy.dims_out", squeeze},
    {"aten::stack.out", stack},
    {"aten::t_copy.out", t},
    {"aten::transpose_copy.int_out", transpose},
    {"aten::tril.out", triangle<true>},
    {"aten::triu.out", triangle<false>},
    {"aten::unbind_copy.int_out", unbind},
    {"aten::unfold_copy.out", unfold},
    {"aten::unsqueeze_copy.out", unsqueeze},
    {"aten::view_copy.out", view},
    {"dim_order_ops::_clone_dim_order.out", clone<3>},
    {"dim_order_ops::_to_dim_order_copy.out", clone<3>},
    {"et_copy::_d2h_copy.out", clone<1>},
    {"et_copy::_h2d_copy.out", clone<1>},
};
static_assert(sorted_by_name(kTable));

}  // namespace
const std::span<const Kernel> kCopyKernels = kTable;
}  // namespace edgewright::runtime
