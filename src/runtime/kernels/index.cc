// src/runtime/kernels/index.cc - elements chosen by tensors of indices or masks. Every index is checked.
#include "runtime/kernels/common.h"
#include "runtime/kernels/tables.h"

namespace edgewright::runtime {
namespace {

bool is_index(const Tensor& t) { return t.dtype == DType::i64 || t.dtype == DType::i32; }

// An index counted from the end where negative; -1 when out of range.
int64_t inside(int64_t i, int64_t n) {
  if (i < 0) i += n;
  return i >= 0 && i < n ? i : -1;
}

Result<void> copy_all(Call& c, Tensor& out, const Tensor& x) {
  if (x.dtype != out.dtype) return c.unsupported(out.dtype);
  EW_TRY(c.resize(out, x.shape()));
  if (out.data != x.data) copy_view(c.pool(), out, x, 0, x.strides);
  return {};
}

// embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)
Result<void> embedding(Call& c) {
  const Tensor &weight = c.in(0), &indices = c.in(1);
  Tensor& out = c.out(5);
  EW_TRY(c.ok());
  if (weight.rank != 2 || !weight.contiguous() || indices.rank + 1 > static_cast<int>(kMaxRank))
    return c.fail(Code::kUsage, "no table of rows");
  if (!is_index(indices)) return c.unsupported(indices.dtype);
  if (weight.dtype != out.dtype) return c.unsupported(out.dtype);
  Shape s = shape_of(indices);
  s[s.rank++] = weight.sizes[1];
  EW_TRY(c.resize(out, s.span()));
  if (!out.contiguous() || !indices.contiguous()) return c.fail(Code::kUnsupported, "a tensor that is not in C order");
  const size_t row = static_cast<size_t>(weight.sizes[1]) * size_of(weight.dtype);
  for (int64_t i = 0, n = indices.numel(); i < n; ++i) {
    const int64_t at = load_one<int64_t>(indices, i);
    if (at < 0 || at >= weight.sizes[0]) return c.fail(Code::kUsage, "index {} of {} rows", at, weight.sizes[0]);
    if (row > 0) std::memcpy(out.data + static_cast<size_t>(i) * row, weight.data + static_cast<size_t>(at) * row, row);
  }
  return {};
}

// index_select(self, dim, index)
Result<void> index_select(Call& c) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(1, x.rank);
  const Tensor& index = c.in(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (!is_index(index) || index.rank > 1) return c.unsupported(index.dtype);
  if (x.dtype != out.dtype) return c.unsupported(out.dtype);
  Shape s = shape_of(x);
  if (x.rank > 0) s[dim] = index.numel();
  EW_TRY(c.resize(out, s.span()));
  const auto item = static_cast<int64_t>(size_of(x.dtype));
  Shape row = shape_of(x);
  if (x.rank > 0) row[dim] = 1;
  for (int64_t i = 0, n = index.numel(); i < n; ++i) {
    const int64_t v = load_one<int64_t>(index, i), size = x.rank > 0 ? x.sizes[dim] : 1;
    if (v < 0 || v >= size) return c.fail(Code::kUsage, "index {} of {}", v, size);
    copy_strided(out.data + (x.rank > 0 ? i * out.strides[dim] * item : 0), out.strides.data(),
                 x.data + (x.rank > 0 ? v * x.strides[dim] * item : 0), x.strides.data(), row.span(), size_of(x.dtype));
  }
  return {};
}

// For each element of `index`: body(offset in index, offset of its place in `t` but for dim, the checked index).
template <class Body>
Result<void> each_index(Call& c, const Tensor& index_in, const Tensor& t_in, size_t dim, Body&& body) {
  // A scalar counts as a list of one.
  const auto as_list = [](Tensor t) {
    if (t.rank == 0) {
      t.rank = 1;
      t.sizes[0] = t.strides[0] = 1;
    }
    return t;
  };
  const Tensor index = as_list(index_in), t = as_list(t_in);
  if (!is_index(index)) return c.unsupported(index.dtype);
  if (index.rank != t.rank)
    return c.fail(Code::kUsage, "the index has {} dimensions, the tensor {}", index.rank, t.rank);
  for (size_t d = 0; d < t.rank; ++d)
    if (d != dim && index.sizes[d] > t.sizes[d]) return c.fail(Code::kUsage, "the index is larger than the tensor");
  const int64_t n = t.rank > 0 ? t.sizes[dim] : 1;
  Strides place = t.strides;
  if (t.rank > 0) place[dim] = 0;
  const Nest<2> nest(index.shape(), {place, index.strides});
  const auto& step = nest.strides[nest.rank - 1];
  int64_t wrong = 0;
  bool bad = false;
  if (index.numel() == 0) return {};
  nest.run(0, nest.total, [&](const std::array<int64_t, 2>& at, int64_t m) {
    for (int64_t i = 0; i < m && !bad; ++i) {
      const int64_t v = load_one<int64_t>(index, at[1] + i * step[1]), k = inside(v, n);
      bad = k < 0;
      wrong = v;
      if (!bad) body(at[1] + i * step[1], at[0] + i * step[0] + (t.rank > 0 ? k * t.strides[dim] : 0));
    }
  });
  if (bad) return c.fail(Code::kUsage, "index {} of {}", wrong, n);
  return {};
}

// gather(self, dim, index, sparse_grad)
Result<void> gather(Call& c) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(1, x.rank);
  const Tensor& index = c.in(2);
  Tensor& out = c.out(4);
  EW_TRY(c.ok());
  if (x.dtype != out.dtype) return c.unsupported(out.dtype);
  EW_TRY(c.resize(out, index.shape()));
  if (out.order != index.order) return c.fail(Code::kUnsupported, "index and output in different layouts");
  const size_t item = size_of(x.dtype);
  return each_index(c, index, x, dim, [&](int64_t at, int64_t from) {
    std::memcpy(out.data + static_cast<size_t>(at) * item, x.data + static_cast<size_t>(from) * item, item);
  });
}

// scatter(self, dim, index, src | value) and scatter_add
Result<void> scatter_into(Call& c, const Tensor* src, const EValue* value, bool add) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(1, x.rank);
  const Tensor& index = c.in(2);
  Tensor& out = c.out(4);
  EW_TRY(c.ok());
  if (!plain({&x}) || (src && src->dtype != x.dtype)) return c.unsupported(x.dtype);
  EW_TRY(copy_all(c, out, x));
  Strides from{};
  if (src) {
    if (src->rank != index.rank) return c.fail(Code::kUsage, "source and index have different ranks");
    for (size_t d = 0; d < index.rank; ++d)
      if (index.sizes[d] > src->sizes[d]) return c.fail(Code::kUsage, "the index is larger than the source");
    from = src->strides;
  }
  // Where in the source an index element's place is: the same multi-index.
  const auto source_at = [&](int64_t at) {
    int64_t p = 0;
    for (size_t i = index.rank; i-- > 0;) {
      const size_t d = index.order[index.rank - 1 - i];
      p += at / index.strides[d] * from[d];
      at %= index.strides[d];
    }
    return p;
  };
  return visit_compute(compute_of(x.dtype), [&]<class C>(C) {
    const C fixed = value ? scalar_as<C>(*value, out.dtype) : C{};
    return each_index(c, index, out, dim, [&](int64_t at, int64_t to) {
      C v = src ? load_one<C>(*src, source_at(at)) : fixed;
      if (add) {
        const C old = load_one<C>(out, to);
        if constexpr (std::is_integral_v<C>)
          v = static_cast<C>(static_cast<uint64_t>(v) + static_cast<uint64_t>(old));
        else
          v += old;
      }
      store_one<C>(out, to, v);
    });
  });
}
Result<void> scatter_src(Call& c) { return scatter_into(c, &c.in(3), nullptr, false); }
Result<void> scatter_value(Call& c) { return scatter_into(c, nullptr, &c.scalar(3), false); }
Result<void> scatter_add(Call& c) { return scatter_into(c, &c.in(3), nullptr, true); }

// --- index and index_put: a list of index tensors, one for each leading dim, some absent ---

int64_t count_true(const Tensor& mask) {
  int64_t n = 0;
  const Nest<1> nest(mask.shape(), {mask.strides});
  if (mask.numel() == 0) return 0;
  nest.run(0, nest.total, [&](const std::array<int64_t, 1>& at, int64_t m) {
    for (int64_t i = 0; i < m; ++i) n += load_one<int64_t>(mask, at[0] + i * nest.strides[nest.rank - 1][0]) != 0;
  });
  return n;
}

// Calls f(multi-index) for each true element of a mask, in C order.
template <class F>
void each_true(const Tensor& mask, F&& f) {
  if (mask.numel() == 0) return;
  std::array<int64_t, kMaxRank> index{};
  for (;;) {
    int64_t at = 0;
    for (size_t d = 0; d < mask.rank; ++d) at += index[d] * mask.strides[d];
    if (load_one<int64_t>(mask, at) != 0) f(index);
    size_t d = mask.rank;
    while (d-- > 0) {
      if (++index[d] < mask.sizes[d]) break;
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return;
  }
}

struct Indexing {
  Shape chosen;                                 // what the index tensors broadcast to
  Shape result;                                 // `chosen` in its place among the dims that are kept
  size_t chosen_at = 0;                         // where in `result` it begins
  std::array<const Tensor*, kMaxRank> index{};  // by dim of self
  std::array<Strides, kMaxRank> strides{};      // of index[d], over `chosen`
  Shape kept;
  Strides kept_self{}, kept_dims{};       // strides of the kept dims in self; and their positions in `result`
  std::array<Tensor, kMaxRank> expanded;  // masks as tensors of indices, in scratch
};

uint64_t index_scratch(Call& c) {
  uint64_t bytes = 64;
  for (size_t k = 0, n = c.list_size(1); k < n; ++k) {
    const Tensor* t = c.list_in(1, k);
    if (t && size_of(t->dtype) == 1) bytes += 8 * static_cast<uint64_t>(t->numel()) * t->rank;
  }
  return bytes;
}

Result<void> plan_indexing(Call& c, const Tensor& x, size_t list, Indexing& p) {
  const size_t n = c.list_size(list);
  std::byte* scratch = c.scratch(index_scratch(c));
  EW_TRY(c.ok());
  if (!scratch) return c.fail(Code::kUnsupported, "out of memory");
  auto* place = reinterpret_cast<int64_t*>(scratch);
  size_t dim = 0;
  for (size_t k = 0; k < n; ++k) {
    const Tensor* t = c.list_in(list, k);
    EW_TRY(c.ok());
    if (dim >= x.rank && (!t || t->rank > 0)) return c.fail(Code::kUsage, "more indices than dimensions");
    if (!t) {
      ++dim;
    } else if (is_index(*t)) {
      if (dim >= x.rank) return c.fail(Code::kUsage, "more indices than dimensions");
      p.index[dim++] = t;
    } else if (t->dtype == DType::b8 || t->dtype == DType::u8) {
      if (t->rank == 0 || dim + t->rank > x.rank)
        return c.fail(Code::kUsage, "a mask with more dimensions than the tensor");
      for (size_t d = 0; d < t->rank; ++d)
        if (t->sizes[d] != x.sizes[dim + d]) return c.fail(Code::kUsage, "a mask of another shape than the tensor");
      const int64_t found = count_true(*t);
      for (size_t d = 0; d < t->rank; ++d) {
        Tensor& e = p.expanded[dim + d];
        e.dtype = DType::i64;
        e.rank = 1;
        e.sizes[0] = found;
        e.strides[0] = 1;
        e.data = reinterpret_cast<std::byte*>(place + static_cast<int64_t>(d) * found);
        p.index[dim + d] = &e;
      }
      int64_t i = 0;
      each_true(*t, [&](const auto& index) {
        for (size_t d = 0; d < t->rank; ++d) place[static_cast<int64_t>(d) * found + i] = index[d];
        ++i;
      });
      place += found * t->rank;
      dim += t->rank;
    } else {
      return c.unsupported(t->dtype);
    }
  }
  // Index tensors next to each other put their shape there, else in front.
  size_t first = kMaxRank, last = 0, count = 0;
  for (size_t d = 0; d < x.rank; ++d) {
    if (!p.index[d]) continue;
    first = std::min(first, d);
    last = d;
    ++count;
    if (!broadcast(p.chosen, *p.index[d])) return c.fail(Code::kUsage, "the indices' shapes do not broadcast");
  }
  if (count == 0) return c.fail(Code::kUsage, "no indices");
  const bool adjacent = last - first + 1 == count;
  if (p.chosen.rank + x.rank - count > kMaxRank) return c.fail(Code::kUnsupported, "more than {} dimensions", kMaxRank);
  const auto put_chosen = [&] {
    p.chosen_at = p.result.rank;
    for (size_t i = 0; i < p.chosen.rank; ++i) p.result[p.result.rank++] = p.chosen[i];
  };
  if (!adjacent) put_chosen();
  for (size_t d = 0; d < x.rank; ++d) {
    if (p.index[d]) {
      p.strides[d] = broadcast_strides(*p.index[d], p.chosen.span());
      if (adjacent && d == first) put_chosen();
      continue;
    }
    p.kept_self[p.kept.rank] = x.strides[d];
    p.kept_dims[p.kept.rank] = static_cast<int64_t>(p.result.rank);
    p.kept[p.kept.rank++] = x.sizes[d];
    p.result[p.result.rank++] = x.sizes[d];
  }
  return {};
}

// body(offset into self, offset into a tensor of the result's shape with these strides) for each element of `chosen`.
template <class Body>
Result<void> each_chosen(Call& c, const Tensor& x, const Indexing& p, const Strides& result_strides, Body&& body) {
  const auto total = checked_numel(p.chosen.span());
  if (!total || *total == 0) return {};
  std::array<int64_t, kMaxRank> index{};
  for (;;) {
    int64_t self = 0, result = 0;
    for (size_t d = 0; d < x.rank; ++d) {
      if (!p.index[d]) continue;
      int64_t at = 0;
      for (size_t i = 0; i < p.chosen.rank; ++i) at += index[i] * p.strides[d][i];
      const int64_t v = load_one<int64_t>(*p.index[d], at), k = inside(v, x.sizes[d]);
      if (k < 0) return c.fail(Code::kUsage, "index {} of {} in dimension {}", v, x.sizes[d], d);
      self += k * x.strides[d];
    }
    for (size_t i = 0; i < p.chosen.rank; ++i) result += index[i] * result_strides[p.chosen_at + i];
    body(self, result);
    size_t d = p.chosen.rank;
    while (d-- > 0) {
      if (++index[d] < p.chosen[d]) break;
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1)) return {};
  }
}

Result<void> index(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (x.dtype != out.dtype) return c.unsupported(out.dtype);
  Indexing p;
  EW_TRY(plan_indexing(c, x, 1, p));
  EW_TRY(c.resize(out, p.result.span()));
  Strides kept_out{};
  for (size_t i = 0; i < p.kept.rank; ++i) kept_out[i] = out.strides[static_cast<size_t>(p.kept_dims[i])];
  const auto item = static_cast<int64_t>(size_of(x.dtype));
  return each_chosen(c, x, p, out.strides, [&](int64_t from, int64_t to) {
    copy_strided(out.data + to * item, kept_out.data(), x.data + from * item, p.kept_self.data(), p.kept.span(),
                 size_of(x.dtype));
  });
}

Result<void> put(Call& c, Tensor& out) {
  const Tensor &x = c.in(0), &values = c.in(2);
  const bool accumulate = c.boolean(3);
  EW_TRY(c.ok());
  if (!plain({&x}) || values.dtype != x.dtype) return c.unsupported(values.dtype);
  EW_TRY(copy_all(c, out, x));
  Indexing p;
  EW_TRY(plan_indexing(c, out, 1, p));
  Shape s = p.result;
  if (!broadcast(s, values) || s.rank != p.result.rank || s.v != p.result.v)
    return c.fail(Code::kUsage, "the values do not broadcast to their places");
  const Strides from = broadcast_strides(values, p.result.span());
  Strides kept_from{};
  for (size_t i = 0; i < p.kept.rank; ++i) kept_from[i] = from[static_cast<size_t>(p.kept_dims[i])];
  const auto item = static_cast<int64_t>(size_of(x.dtype));
  if (!accumulate)
    return each_chosen(c, out, p, from, [&](int64_t self, int64_t at) {
      copy_strided(out.data + self * item, p.kept_self.data(), values.data + at * item, kept_from.data(), p.kept.span(),
                   size_of(x.dtype));
    });
  const Nest<2> nest(p.kept.span(), {kept_from, p.kept_self});
  const auto& step = nest.strides[nest.rank - 1];
  return visit_compute(compute_of(x.dtype), [&]<class C>(C) {
    return each_chosen(c, out, p, from, [&](int64_t self, int64_t at) {
      nest.run(0, nest.total, [&](const std::array<int64_t, 2>& o, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          const int64_t to = self + o[1] + i * step[1];
          const C a = load_one<C>(out, to), b = load_one<C>(values, at + o[0] + i * step[0]);
          if constexpr (std::is_integral_v<C>)
            store_one<C>(out, to, static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)));
          else
            store_one<C>(out, to, a + b);
        }
      });
    });
  });
}
Result<void> index_put(Call& c) { return put(c, c.out(4)); }
Result<void> index_put_inplace(Call& c) { return put(c, c.out(0)); }

// --- masks ---

Result<void> masked_select(Call& c) {
  const Tensor &x = c.in(0), &mask = c.in(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (x.dtype != out.dtype || mask.dtype != DType::b8) return c.unsupported(mask.dtype);
  Shape s = shape_of(x);
  if (!broadcast(s, mask)) return c.fail(Code::kUsage, "the mask does not broadcast");
  Tensor wide = mask;  // the mask seen in the common shape
  wide.rank = static_cast<uint8_t>(s.rank);
  wide.sizes = s.v;
  wide.strides = broadcast_strides(mask, s.span());
  const Strides from = broadcast_strides(x, s.span());
  const int64_t n = count_true(wide);
  EW_TRY(c.resize(out, std::span<const int64_t>(&n, 1)));
  const size_t item = size_of(x.dtype);
  std::byte* to = out.data;
  each_true(wide, [&](const auto& index) {
    int64_t at = 0;
    for (size_t d = 0; d < s.rank; ++d) at += index[d] * from[d];
    std::memcpy(to, x.data + static_cast<size_t>(at) * item, item);
    to += item;
  });
  return {};
}

Result<void> masked_scatter(Call& c) {
  const Tensor &x = c.in(0), &mask = c.in(1), &source = c.in(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (x.dtype != out.dtype || source.dtype != x.dtype || mask.dtype != DType::b8) return c.unsupported(mask.dtype);
  EW_TRY(resize_broadcast(c, out, {&x, &mask}));
  Tensor wide = mask;
  wide.rank = out.rank;
  wide.sizes = out.sizes;
  wide.strides = broadcast_strides(mask, out.shape());
  if (count_true(wide) > source.numel() || !source.contiguous())
    return c.fail(Code::kUsage, "the source has fewer elements than the mask chooses");
  copy_view(c.pool(), out, x, 0, broadcast_strides(x, out.shape()));
  const size_t item = size_of(x.dtype);
  const std::byte* from = source.data;
  each_true(wide, [&](const auto& index) {
    int64_t at = 0;
    for (size_t d = 0; d < out.rank; ++d) at += index[d] * out.strides[d];
    std::memcpy(out.data + static_cast<size_t>(at) * item, from, item);
    from += item;
  });
  return {};
}

Result<void> nonzero(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(1);
  EW_TRY(c.ok());
  if (!plain({&x}) || out.dtype != DType::i64) return c.unsupported(x.dtype);
  const auto differs = [&](int64_t at) {
    return is_float(x.dtype) ? load_one<double>(x, at) != 0 : load_one<int64_t>(x, at) != 0;
  };
  const Strides dense = dense_strides(x.shape());
  const auto place = [&](int64_t i) {
    int64_t at = 0;
    for (size_t d = 0; d < x.rank; ++d) at += i / dense[d] % x.sizes[d] * x.strides[d];
    return at;
  };
  int64_t found = 0;
  const int64_t n = x.numel();
  for (int64_t i = 0; i < n; ++i) found += differs(place(i));
  const int64_t sizes[] = {found, x.rank};
  EW_TRY(c.resize(out, sizes));
  int64_t row = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!differs(place(i))) continue;
    for (size_t d = 0; d < x.rank; ++d)
      out.as<int64_t>()[row * out.strides[0] + static_cast<int64_t>(d) * out.strides[1]] = i / dense[d] % x.sizes[d];
    ++row;
  }
  return {};
}

// repeat_interleave(repeats, output_size?): index i, repeats[i] times.
Result<void> repeat_interleave(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (!is_index(x) || x.rank != 1 || !is_index(out)) return c.unsupported(x.dtype);
  int64_t n = 0;
  for (int64_t i = 0; i < x.sizes[0]; ++i) {
    const int64_t v = load_one<int64_t>(x, i);
    const auto sum = checked_add(n, v);
    if (v < 0 || !sum) return c.fail(Code::kUsage, "repeated {} times", v);
    n = *sum;
  }
  EW_TRY(c.resize(out, std::span<const int64_t>(&n, 1)));
  int64_t at = 0;
  for (int64_t i = 0; i < x.sizes[0]; ++i)
    for (int64_t k = load_one<int64_t>(x, i); k-- > 0;) store_one<int64_t>(out, at++, i);
  return {};
}

// --- order ---

template <class C>
struct Ranked {
  C value;
  int64_t place;
};

uint64_t order_scratch(Call& c) {
  const Tensor& x = c.in(0);
  int64_t most = 1;
  for (int64_t s : x.shape()) most = std::max(most, s);
  return static_cast<uint64_t>(most) * sizeof(Ranked<int64_t>);
}

// The first k of a dim in order; ties in the order of their places, NaN as the greatest.
Result<void> ordered(Call& c, const Tensor& x, size_t dim, int64_t k, bool descending, Tensor& values, Tensor& places) {
  if (!plain({&x}) || values.dtype != x.dtype || places.dtype != DType::i64) return c.unsupported(x.dtype);
  const int64_t n = x.rank > 0 ? x.sizes[dim] : 1;
  if (k < 0 || k > n) return c.fail(Code::kUsage, "{} of {} elements", k, n);
  Shape s = shape_of(x), lines = shape_of(x);
  if (x.rank > 0) {
    s[dim] = k;
    lines[dim] = 1;
  }
  EW_TRY(c.resize(values, s.span()));
  EW_TRY(c.resize(places, s.span()));
  if (values.numel() == 0) return {};
  std::byte* scratch = c.scratch(order_scratch(c));
  if (!scratch) return c.fail(Code::kUnsupported, "out of memory");
  const int64_t sx = x.rank ? x.strides[dim] : 1, sv = x.rank ? values.strides[dim] : 1,
                sp = x.rank ? places.strides[dim] : 1;
  const Nest<3> nest(lines.span(), {x.strides, places.strides, values.strides});
  const auto& step = nest.strides[nest.rank - 1];
  const Compute compute = is_float(x.dtype) ? Compute::kDouble : Compute::kInt;
  visit_compute(compute, [&]<class C>(C) {
    auto* line = reinterpret_cast<Ranked<C>*>(scratch);
    const auto before = [descending](const Ranked<C>& a, const Ranked<C>& b) {
      const bool na = a.value != a.value, nb = b.value != b.value;
      if (na || nb) return na && nb ? a.place < b.place : descending ? na : nb;
      if (a.value != b.value) return descending ? a.value > b.value : a.value < b.value;
      return a.place < b.place;
    };
    nest.run(0, nest.total, [&](const std::array<int64_t, 3>& at, int64_t m) {
      for (int64_t q = 0; q < m; ++q) {
        for (int64_t i = 0; i < n; ++i) line[i] = {load_one<C>(x, at[0] + q * step[0] + i * sx), i};
        std::partial_sort(line, line + k, line + n, before);
        for (int64_t i = 0; i < k; ++i) {
          store_one<C>(values, at[2] + q * step[2] + i * sv, line[i].value);
          store_one<int64_t>(places, at[1] + q * step[1] + i * sp, line[i].place);
        }
      }
    });
  });
  return {};
}

// topk(self, k, dim, largest, sorted)
Result<void> topk(Call& c) {
  const Tensor& x = c.in(0);
  const int64_t k = c.integer(1);
  const size_t dim = c.axis(2, x.rank);
  const bool largest = c.boolean(3);
  Tensor &values = c.out(5), &places = c.out(6);
  EW_TRY(c.ok());
  return ordered(c, x, dim, k, largest, values, places);
}
// sort(self, dim, descending) and sort(self, stable?, dim, descending)
template <size_t at>
Result<void> sort(Call& c) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(at, x.rank);
  const bool descending = c.boolean(at + 1);
  Tensor &values = c.out(at + 2), &places = c.out(at + 3);
  EW_TRY(c.ok());
  return ordered(c, x, dim, x.rank > 0 ? x.sizes[dim] : 1, descending, values, places);
}

constexpr Kernel kTable[] = {
    {"aten::embedding.out", embedding},
    {"aten::gather.out", gather},
    {"aten::index.Tensor_out", index, index_scratch},
    {"aten::index_put.out", index_put, index_scratch},
    {"aten::index_put_", index_put_inplace, index_scratch},
    {"aten::index_select.out", index_select},
    {"aten::masked_scatter.out", masked_scatter},
    {"aten::masked_select.out", masked_select},
    {"aten::nonzero.out", nonzero},
    {"aten::repeat_interleave.Tensor_out", repeat_interleave},
    {"aten::scatter.src_out", scatter_src},
    {"aten::scatter.value_out", scatter_value},
    {"aten::scatter_add.out", scatter_add},
    {"aten::sort.values", sort<1>, order_scratch},
    {"aten::sort.values_stable", sort<2>, order_scratch},
    {"aten::topk.values", topk, order_scratch},
};
static_assert(sorted_by_name(kTable));

}  // namespace
const std::span<const Kernel> kIndexKernels = kTable;
}  // namespace edgewright::runtime
