// src/runtime/kernels/reduce.cc - sums, extremes, softmax: an output element from a whole run of input elements.
#include "runtime/kernels/common.h"
#include "runtime/kernels/tables.h"

namespace edgewright::runtime {
namespace {

// Which dims are reduced, as a bit mask; an empty list means all.
Result<uint32_t> reduced_dims(Call& c, const Call::Ints& dims, size_t rank) {
  uint32_t mask = 0;
  for (size_t i = 0; i < dims.size(); ++i) mask |= 1u << c.axis_of(dims[i], rank);
  EW_TRY(c.ok());
  return dims.empty() ? (1u << std::max<size_t>(rank, 1)) - 1 : mask;
}

Result<void> resize_reduced(Call& c, Tensor& out, const Tensor& x, uint32_t mask, bool keep) {
  Shape s;
  for (size_t d = 0; d < x.rank; ++d) {
    const bool gone = mask & (1u << d);
    if (gone && !keep) continue;
    s[s.rank++] = gone ? 1 : x.sizes[d];
  }
  return c.resize(out, s.span());
}

// For each output element: body(output offset, input offset of its first element), in parallel; and the nest of the reduced dims.
struct Reduction {
  Nest<2> outer;  // kept dims: input, output
  Nest<1> inner;  // reduced dims: input

  static Nest<2> kept(const Tensor& x, const Tensor& out, uint32_t mask) {
    Shape s;
    std::array<Strides, 2> st{};
    const bool same_rank = out.rank == x.rank;
    for (size_t d = 0, o = 0; d < x.rank; ++d) {
      if (mask & (1u << d)) {
        o += same_rank;
        continue;
      }
      st[0][s.rank] = x.strides[d];
      st[1][s.rank] = out.strides[o++];
      s[s.rank++] = x.sizes[d];
    }
    return Nest<2>(s.span(), st);
  }
  static Nest<1> gone(const Tensor& x, uint32_t mask) {
    Shape s;
    std::array<Strides, 1> st{};
    for (size_t d = 0; d < x.rank; ++d) {
      if (!(mask & (1u << d))) continue;
      st[0][s.rank] = x.strides[d];
      s[s.rank++] = x.sizes[d];
    }
    return Nest<1>(s.span(), st);
  }
  Reduction(const Tensor& x, const Tensor& out, uint32_t mask) : outer(kept(x, out, mask)), inner(gone(x, mask)) {}

  template <class Body>
  void run(pthreadpool* pool, Body&& body) const {
    const auto& step = outer.strides[outer.rank - 1];
    parallel_for(pool, outer.total, std::max<int64_t>(1, 16384 / (inner.total + 1)), [&](int64_t begin, int64_t end) {
      outer.run(begin, end, [&](const std::array<int64_t, 2>& at, int64_t n) {
        for (int64_t i = 0; i < n; ++i) body(at[1] + i * step[1], at[0] + i * step[0]);
      });
    });
  }

  // f(block of C, n) over the reduced elements from input offset `from`.
  template <class C, class F>
  void blocks(const Tensor& x, int64_t from, F&& f) const {
    constexpr int64_t kBlock = 512;
    C buffer[kBlock];
    const int64_t step = inner.strides[inner.rank - 1][0];
    const auto item = static_cast<int64_t>(size_of(x.dtype));
    inner.run(0, inner.total, [&](const std::array<int64_t, 1>& at, int64_t n) {
      for (int64_t done = 0; done < n; done += kBlock) {
        const int64_t m = std::min(kBlock, n - done);
        const std::byte* p = x.data + (from + at[0] + done * step) * item;
        if (x.dtype == native_dtype<C> && step == 1) {
          f(reinterpret_cast<const C*>(p), m);
        } else {
          load_block<C>(x.dtype, p, step, static_cast<size_t>(m), buffer);
          f(static_cast<const C*>(buffer), m);
        }
      }
    });
  }
};

// Sums in double (ints modulo 2^64), several lanes so that the compiler can vectorize.
template <class C>
using Sum = std::conditional_t<std::is_integral_v<C>, uint64_t, double>;
template <class C>
Sum<C> sum_block(const C* v, int64_t n) {
  Sum<C> lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) lanes[k] += static_cast<Sum<C>>(v[i + k]);
  for (; i < n; ++i) lanes[0] += static_cast<Sum<C>>(v[i]);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

Result<void> sum_over(Call& c, const Tensor& x, const Call::Ints& dims, bool keep, Tensor& out, bool mean) {
  EW_TRY(c.ok());
  if (!plain({&x, &out})) return c.unsupported(x.dtype);
  EW_ASSIGN(const uint32_t mask, reduced_dims(c, dims, x.rank));
  EW_TRY(resize_reduced(c, out, x, mask, keep));
  const Reduction r(x, out, mask);
  // Ints summed into a float output are summed as floats, as `dtype` says.
  const Compute compute = compute_of(out.dtype) == Compute::kInt ? Compute::kInt
                          : x.dtype == DType::f32                ? Compute::kFloat
                                                                 : Compute::kDouble;
  visit_compute(compute, [&]<class C>(C) {
    r.run(c.pool(), [&](int64_t to, int64_t from) {
      Sum<C> s = 0;
      r.blocks<C>(x, from, [&](const C* v, int64_t n) { s += sum_block(v, n); });
      if constexpr (std::is_integral_v<C>)
        store_one<int64_t>(out, to, static_cast<int64_t>(s));
      else
        store_one<double>(out, to, mean ? s / static_cast<double>(r.inner.total) : s);
    });
  });
  return {};
}

// sum(self, dim?, keepdim, dtype?) and mean alike.
template <bool mean>
Result<void> sum(Call& c) {
  return sum_over(c, c.in(0), c.ints(1), c.boolean(2), c.out(4), mean);
}
Result<void> mean_all(Call& c) { return sum_over(c, c.in(0), {}, false, c.out(2), true); }

Result<void> prod_over(Call& c, const Tensor& x, const Call::Ints& dims, bool keep, Tensor& out) {
  EW_TRY(c.ok());
  if (!plain({&x, &out})) return c.unsupported(x.dtype);
  EW_ASSIGN(const uint32_t mask, reduced_dims(c, dims, x.rank));
  EW_TRY(resize_reduced(c, out, x, mask, keep));
  const Reduction r(x, out, mask);
  visit_compute(compute_of(out.dtype) == Compute::kInt ? Compute::kInt : Compute::kDouble, [&]<class C>(C) {
    r.run(c.pool(), [&](int64_t to, int64_t from) {
      Sum<C> s = 1;
      r.blocks<C>(x, from, [&](const C* v, int64_t n) {
        for (int64_t i = 0; i < n; ++i) s *= static_cast<Sum<C>>(v[i]);
      });
      store_one<C>(out, to, static_cast<C>(s));
    });
  });
  return {};
}
Result<void> prod(Call& c) { return prod_over(c, c.in(0), c.ints(1), c.boolean(2), c.out(4)); }
Result<void> prod_all(Call& c) { return prod_over(c, c.in(0), {}, false, c.out(2)); }

// any and all: does one element differ from 0 (or from 1)?
template <bool all>
Result<void> any_over(Call& c, const Tensor& x, const Call::Ints& dims, bool keep, Tensor& out) {
  EW_TRY(c.ok());
  if (!plain({&x, &out})) return c.unsupported(x.dtype);
  EW_ASSIGN(const uint32_t mask, reduced_dims(c, dims, x.rank));
  EW_TRY(resize_reduced(c, out, x, mask, keep));
  const Reduction r(x, out, mask);
  visit_compute(compute_of(x.dtype), [&]<class C>(C) {
    r.run(c.pool(), [&](int64_t to, int64_t from) {
      bool found = false;
      r.blocks<C>(x, from, [&](const C* v, int64_t n) {
        for (int64_t i = 0; i < n; ++i) found |= (v[i] != 0) != all;
      });
      store_one<int64_t>(out, to, found != all);
    });
  });
  return {};
}
template <bool all>
Result<void> any(Call& c) {
  return any_over<all>(c, c.in(0), c.ints(1), c.boolean(2), c.out(3));
}
template <bool all>
Result<void> any_all(Call& c) {
  return any_over<all>(c, c.in(0), {}, false, c.out(1));
}

// The extreme value and its first place; NaN wins over all.
template <bool max, class C>
struct Extreme {
  C value{};
  int64_t place = -1;
  void see(C v, int64_t at) {
    const bool was_nan = value != value;
    if (place < 0 || (!was_nan && (v != v || (max ? v > value : v < value)))) {
      value = v;
      place = at;
    }
  }
};

// Writes values and/or places over the reduced dims.
template <bool max>
Result<void> extreme_over(Call& c, const Tensor& x, uint32_t mask, bool keep, Tensor* values, Tensor* places) {
  if (!plain({&x}) || (values && !plain({values})) || (places && places->dtype != DType::i64))
    return c.unsupported(x.dtype);
  for (Tensor* t : {values, places})
    if (t) EW_TRY(resize_reduced(c, *t, x, mask, keep));
  if ((values ? values : places)->numel() == 0) return {};
  Tensor& shape = values ? *values : *places;
  const Reduction r(x, shape, mask);
  if (r.inner.total == 0) return c.fail(Code::kUsage, "the extreme of no elements");
  // Values and places have one shape, but maybe two memory orders.
  if (values && places && values->strides != places->strides && values->numel() > 1)
    return c.fail(Code::kUnsupported, "outputs of different layouts");
  visit_compute(compute_of(x.dtype), [&]<class C>(C) {
    r.run(c.pool(), [&](int64_t to, int64_t from) {
      Extreme<max, C> e;
      int64_t at = 0;
      r.blocks<C>(x, from, [&](const C* v, int64_t n) {
        for (int64_t i = 0; i < n; ++i) e.see(v[i], at++);
      });
      if (values) store_one<C>(*values, to, e.value);
      if (places) store_one<int64_t>(*places, to, e.place);
    });
  });
  return {};
}

template <bool max>
Result<void> amax(Call& c) {
  const Tensor& x = c.in(0);
  const auto dims = c.ints(1);
  const bool keep = c.boolean(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  EW_ASSIGN(const uint32_t mask, reduced_dims(c, dims, x.rank));
  return extreme_over<max>(c, x, mask, keep, &out, nullptr);
}
template <bool max>
Result<void> extreme_all(Call& c) {
  const Tensor& x = c.in(0);
  Tensor& out = c.out(1);
  EW_TRY(c.ok());
  EW_ASSIGN(const uint32_t mask, reduced_dims(c, {}, x.rank));
  return extreme_over<max>(c, x, mask, false, &out, nullptr);
}
template <bool max>
Result<void> extreme_dim(Call& c) {
  const Tensor& x = c.in(0);
  const auto dims = c.ints(1);
  const bool keep = c.boolean(2);
  Tensor &values = c.out(3), &places = c.out(4);
  EW_TRY(c.ok());
  EW_ASSIGN(const uint32_t mask, reduced_dims(c, dims, x.rank));
  return extreme_over<max>(c, x, mask, keep, &values, &places);
}
// Without a dim the place counts the elements in C order.
template <bool max>
Result<void> arg_extreme(Call& c) {
  const Tensor& x = c.in(0);
  const auto dims = c.ints(1);
  const bool keep = c.boolean(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (dims.empty() && !x.contiguous()) return c.fail(Code::kUnsupported, "a flattened tensor that is not in C order");
  EW_ASSIGN(const uint32_t mask, reduced_dims(c, dims, x.rank));
  return extreme_over<max>(c, x, mask, keep, nullptr, &out);
}

// var(self, dim?, correction, keepdim), with the mean where asked for. Two passes.
Result<void> var_over(Call& c, const Tensor& x, const Call::Ints& dims, double correction, bool keep, Tensor& out,
                      Tensor* mean) {
  EW_TRY(c.ok());
  if (!is_float(x.dtype) || !plain({&out})) return c.unsupported(x.dtype);
  EW_ASSIGN(const uint32_t mask, reduced_dims(c, dims, x.rank));
  EW_TRY(resize_reduced(c, out, x, mask, keep));
  if (mean) EW_TRY(resize_reduced(c, *mean, x, mask, keep));
  const Reduction r(x, out, mask);
  const double n = static_cast<double>(r.inner.total);
  r.run(c.pool(), [&](int64_t to, int64_t from) {
    double s = 0, q = 0;
    r.blocks<double>(x, from, [&](const double* v, int64_t m) { s += sum_block(v, m); });
    const double mu = s / n;
    r.blocks<double>(x, from, [&](const double* v, int64_t m) {
      for (int64_t i = 0; i < m; ++i) q += (v[i] - mu) * (v[i] - mu);
    });
    store_one<double>(out, to, q / std::max(n - correction, 0.0));
    if (mean) store_one<double>(*mean, to, mu);
  });
  return {};
}
Result<void> var_correction(Call& c) {
  return var_over(c, c.in(0), c.ints(1), c.real_or(2, 1), c.boolean(3), c.out(4), nullptr);
}
Result<void> var_mean(Call& c) {
  return var_over(c, c.in(0), c.ints(1), c.real_or(2, 1), c.boolean(3), c.out(4), &c.out(5));
}
Result<void> var_unbiased(Call& c) {
  return var_over(c, c.in(0), c.ints(1), c.boolean(2) ? 1 : 0, c.boolean(3), c.out(4), nullptr);
}

// Along one dim, line by line: body(input offset, output offset, length, strides).
template <class Body>
void lines(pthreadpool* pool, const Tensor& x, const Tensor& out, size_t dim, Body&& body) {
  Shape s = shape_of(x);
  const int64_t n = x.rank == 0 ? 1 : x.sizes[dim];
  if (x.rank > 0) s[dim] = 1;
  if (n == 0) return;
  const Nest<2> nest(s.span(), {x.strides, out.strides});
  const auto& step = nest.strides[nest.rank - 1];
  parallel_for(pool, nest.total, std::max<int64_t>(1, 8192 / n), [&](int64_t begin, int64_t end) {
    nest.run(begin, end, [&](const std::array<int64_t, 2>& at, int64_t m) {
      for (int64_t i = 0; i < m; ++i) body(at[0] + i * step[0], at[1] + i * step[1], n);
    });
  });
}

// softmax(self, dim, half_to_float): computed in float (double for f64).
template <bool log>
Result<void> softmax(Call& c) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(1, x.rank);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (!is_float(x.dtype) || !is_float(out.dtype)) return c.unsupported(x.dtype);
  EW_TRY(c.resize(out, x.shape()));
  const auto run = [&]<class C>(C) {
    const int64_t sx = x.rank ? x.strides[dim] : 1, so = x.rank ? out.strides[dim] : 1;
    const bool direct = x.dtype == native_dtype<C> && out.dtype == x.dtype;
    lines(c.pool(), x, out, dim, [&](int64_t from, int64_t to, int64_t n) {
      const auto get = [&](int64_t i) { return direct ? x.as<C>()[from + i * sx] : load_one<C>(x, from + i * sx); };
      const auto put = [&](int64_t i, C v) {
        if (direct)
          out.as<C>()[to + i * so] = v;
        else
          store_one<C>(out, to + i * so, v);
      };
      C most = -std::numeric_limits<C>::infinity();
      bool nan = false;
      for (int64_t i = 0; i < n; ++i) {
        const C v = get(i);
        nan |= v != v;
        most = v > most ? v : most;
      }
      if (nan) most = std::numeric_limits<C>::quiet_NaN();
      C sum = 0;
      if (log) {
        for (int64_t i = 0; i < n; ++i) sum += std::exp(get(i) - most);
        const C shift = most + std::log(sum);
        for (int64_t i = 0; i < n; ++i) put(i, get(i) - shift);
      } else if (direct) {
        // The output holds the exponentials meanwhile.
        for (int64_t i = 0; i < n; ++i) {
          const C e = std::exp(get(i) - most);
          sum += e;
          put(i, e);
        }
        for (int64_t i = 0; i < n; ++i) out.as<C>()[to + i * so] /= sum;
      } else {
        for (int64_t i = 0; i < n; ++i) sum += std::exp(get(i) - most);
        for (int64_t i = 0; i < n; ++i) put(i, std::exp(get(i) - most) / sum);
      }
    });
  };
  x.dtype == DType::f64 ? run(double{}) : run(float{});
  return {};
}

// cumsum(self, dim, dtype?)
Result<void> cumsum(Call& c) {
  const Tensor& x = c.in(0);
  const size_t dim = c.axis(1, x.rank);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (!plain({&x, &out})) return c.unsupported(x.dtype);
  EW_TRY(c.resize(out, x.shape()));
  const int64_t sx = x.rank ? x.strides[dim] : 1, so = x.rank ? out.strides[dim] : 1;
  visit_compute(compute_of(out.dtype) == Compute::kInt ? Compute::kInt : Compute::kDouble, [&]<class C>(C) {
    lines(c.pool(), x, out, dim, [&](int64_t from, int64_t to, int64_t n) {
      Sum<C> s = 0;
      for (int64_t i = 0; i < n; ++i) {
        s += static_cast<Sum<C>>(load_one<C>(x, from + i * sx));
        store_one<C>(out, to + i * so, static_cast<C>(s));
      }
    });
  });
  return {};
}

constexpr Kernel kTable[] = {
    {"aten::_log_softmax.out", softmax<true>},
    {"aten::_softmax.out", softmax<false>},
    {"aten::all.all_out", any_all<true>},
    {"aten::all.dims_out", any<true>},
    {"aten::all.out", any<true>},
    {"aten::amax.out", amax<true>},
    {"aten::amin.out", amax<false>},
    {"aten::any.all_out", any_all<false>},
    {"aten::any.dims_out", any<false>},
    {"aten::any.out", any<false>},
    {"aten::argmax.out", arg_extreme<true>},
    {"aten::argmin.out", arg_extreme<false>},
    {"aten::cumsum.out", cumsum},
    {"aten::max.dim_max", extreme_dim<true>},
    {"aten::max.unary_out", extreme_all<true>},
    {"aten::mean.dtype_out", mean_all},
    {"aten::mean.out", sum<true>},
    {"aten::min.dim_min", extreme_dim<false>},
    {"aten::min.unary_out", extreme_all<false>},
    {"aten::prod.int_out", prod},
    {"aten::prod.out", prod_all},
    {"aten::sum.IntList_out", sum<false>},
    {"aten::var.correction_out", var_correction},
    {"aten::var.out", var_unbiased},
    {"aten::var_mean.correction_out", var_mean},
};
static_assert(sorted_by_name(kTable));

}  // namespace
const std::span<const Kernel> kReduceKernels = kTable;
}  // namespace edgewright::runtime
