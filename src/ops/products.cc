#include "ops/products.h"

#include "base/parallel.h"
#include "ops/dense_source.h"
#include "ops/gemm.h"

namespace edgewright::ops {
namespace {

// Offsets of matrix number `batch` of a tensor [..., r, c].
int64_t batch_offset(const ir::Tensor& t, int64_t batch) {
  int64_t at = 0;
  for (size_t d = t.sizes.size() - 2; d-- > 0;) {
    at += batch % t.sizes[d] * t.strides[d];
    batch /= t.sizes[d];
  }
  return at;
}

void multiply_ints(const ir::Tensor& a, const ir::Tensor& b, const ir::Tensor* add, const Affine& f, ir::Tensor& out) {
  const size_t r = out.sizes.size();
  const int64_t m = out.sizes[r - 2], n = out.sizes[r - 1], k = a.sizes[r - 1];
  const auto x = elements<int64_t>(a), y = elements<int64_t>(b);
  const auto z = add ? elements<int64_t>(*add) : std::vector<int64_t>();
  std::vector<int64_t> result(static_cast<size_t>(out.numel()));
  const int64_t batches = m * n > 0 ? out.numel() / (m * n) : 0;
  std::vector<uint64_t> row(static_cast<size_t>(n));
  for (int64_t p = 0; p < batches * m; ++p) {
    const int64_t batch = p / m;
    std::fill(row.begin(), row.end(), 0);
    for (int64_t l = 0; l < k; ++l) {
      const auto s = static_cast<uint64_t>(x[static_cast<size_t>(p * k + l)]);
      const int64_t* from = &y[static_cast<size_t>((batch * k + l) * n)];
      for (int64_t j = 0; j < n; ++j) row[static_cast<size_t>(j)] += s * static_cast<uint64_t>(from[j]);
    }
    for (int64_t j = 0; j < n; ++j) {
      const auto at = static_cast<size_t>(p * n + j);
      result[at] = f.apply<int64_t>(out.dtype, static_cast<int64_t>(row[static_cast<size_t>(j)]), add ? z[at] : 0);
    }
  }
  assign(out, result);
}

// out = alpha * (a @ b) + beta * add with a [..., m, k], b [..., k, n], out [..., m, n] contiguous and equal batch dims
// (expanded by stride 0 where they broadcast); `add`, if given, has out's sizes.
void multiply(const ir::Tensor& a0, const ir::Tensor& b0, const ir::Tensor* add0, const Affine& f, double lo, double hi,
              ir::Tensor& out) {
  if (f.beta.f == 0) add0 = nullptr;
  if (!is_float(out.dtype)) return multiply_ints(a0, b0, add0, f, out);
  const ir::Tensor a = f32_or_f64(a0), b = f32_or_f64(b0);
  const ir::Tensor add = add0 ? f32_or_f64(*add0) : ir::Tensor();
  const size_t r = out.sizes.size();
  const int64_t m = out.sizes[r - 2], n = out.sizes[r - 1], k = a.sizes[r - 1];
  const int64_t batches = m * n > 0 ? out.numel() / (m * n) : 0;
  parallel_for(batches, m * n > 0 ? std::max<int64_t>(1, 100000 / std::max<int64_t>(m * n, 1)) : 1,
               [&](int64_t begin, int64_t end) {
                 for (int64_t batch = begin; batch < end; ++batch) {
                   const int64_t at_a = batch_offset(a, batch), at_b = batch_offset(b, batch),
                                 at_add = add0 ? batch_offset(add, batch) : 0;
                   const GemmPack pa = visit_float(a, [&](const auto* p) {
                     return pack_strided(p + at_a, a.strides[r - 2], a.strides[r - 1], kGemmRows);
                   });
                   const GemmPack pb = visit_float(b, [&](const auto* p) {
                     return pack_strided(p + at_b, b.strides[r - 1], b.strides[r - 2], kGemmCols);
                   });
                   gemm(m, n, k, pa, pb,
                        [&](int64_t i0, int64_t rows, int64_t j0, int64_t cols, const double* sums, int64_t stride) {
                          for (int64_t i = i0; i < i0 + rows; ++i) {
                            const double* from = sums + (i - i0) * stride - j0;
                            for (int64_t j = j0; j < j0 + cols; ++j) {
                              const double extra =
                                  add0 ? visit_float(add,
                                                     [&](const auto* p) {
                                                       return static_cast<double>(
                                                           p[at_add + i * add.strides[r - 2] + j * add.strides[r - 1]]);
                                                     })
                                       : 0;
                              ir::store_f(out.dtype, out.mutable_data(), (batch * m + i) * n + j,
                                          clamped(f.apply<double>(out.dtype, from[j], extra), lo, hi));
                            }
                          }
                        });
                 }
               });
}

// Operand strides along the result's dims, then along the inner ones.
std::vector<int64_t> strides_of(const Side& s, const ir::Tensor& t, size_t result_rank, size_t inner_rank) {
  std::vector<int64_t> st(result_rank + inner_rank, 0);
  for (size_t d = 0; d < s.from.size(); ++d)
    if (s.from[d] >= 0)
      st[static_cast<size_t>(s.from[d])] += t.strides[d];
    else if (s.from[d] != Side::kFirst)
      st[result_rank + static_cast<size_t>(~s.from[d])] += t.strides[d];
  return st;
}

ir::Tensor with_strides(const ir::Tensor& t, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  ir::Tensor v = t;
  v.sizes = std::move(sizes);
  v.strides = std::move(strides);
  return v;
}

// The factor with its result dims (size 1 and stride 0 where it has none) followed by one inner dim of `inner` elements.
ir::Tensor one_inner(const Side& s, const ir::Tensor& t, std::span<const int64_t> result,
                     std::span<const int64_t> inner) {
  const size_t r = result.size(), k = inner.size();
  std::vector<int64_t> st = strides_of(s, t, r, k), sizes(result.begin(), result.end());
  for (size_t d = 0; d < r; ++d)
    if (std::find(s.from.begin(), s.from.end(), static_cast<int>(d)) == s.from.end()) sizes[d] = 1;
  sizes.insert(sizes.end(), inner.begin(), inner.end());
  if (k == 1) return with_strides(t, sizes, st);
  const int64_t n = product(inner);
  ir::Tensor v = with_strides(t, sizes, st).contiguous();
  v.sizes.resize(r);
  v.sizes.push_back(n);
  v.strides = ir::contiguous_strides(v.sizes);
  return v;
}

}  // namespace

void contraction_whole(const Contraction& c, std::span<const ir::Tensor> in, ir::Tensor& out) {
  // Brings everything to a [batch.., m, k] @ b [batch.., k, n].
  std::vector<int64_t> sizes = out.sizes;
  ir::Tensor a = one_inner(c.a, in[static_cast<size_t>(c.a.operand)], sizes, c.inner);
  ir::Tensor b = one_inner(c.b, in[static_cast<size_t>(c.b.operand)], sizes, c.inner);
  ir::Tensor add;
  if (c.add) {
    const ir::Tensor& t = in[static_cast<size_t>(c.add->operand)];
    add = with_strides(t, sizes, strides_of(*c.add, t, sizes.size(), 0));
  }
  for (ir::Tensor* t : {&a, &b})
    for (size_t d = 0; d < sizes.size(); ++d)
      if (t->sizes[d] == 1) t->strides[d] = 0;
  const auto uses = [](const Side& s, size_t d) {
    return std::find(s.from.begin(), s.from.end(), static_cast<int>(d)) != s.from.end();
  };
  const auto insert = [&](size_t at) {  // a dim of size 1 in everything
    for (ir::Tensor* t : {&a, &b, &add}) {
      if (t == &add && !c.add) continue;
      t->sizes.insert(t->sizes.begin() + static_cast<ptrdiff_t>(at), 1);
      t->strides.insert(t->strides.begin() + static_cast<ptrdiff_t>(at), 0);
    }
    sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(at), 1);
  };
  const size_t rank = sizes.size();
  const bool has_n = rank > 0 && !uses(c.a, rank - 1);
  const size_t rows = has_n ? rank - 1 : rank;  // dims before n
  const bool has_m = rows > 0 && !uses(c.b, rows - 1);
  if (!has_n) insert(rank);
  if (!has_m) insert(rows);
  // Batch dims that b does not know become more rows of a where a's layout allows it.
  size_t r = sizes.size();
  while (r > 2) {
    const size_t m = r - 2, d = r - 3;
    const bool merges = (b.strides[d] == 0 && b.strides[m] == 0) &&
                        (a.strides[d] == sizes[m] * a.strides[m] || sizes[d] == 1) &&
                        (!c.add || add.strides[d] == sizes[m] * add.strides[m] || sizes[d] == 1);
    if (!merges) break;
    const int64_t n = sizes[d] * sizes[m];
    for (ir::Tensor* t : {&a, &b, &add}) {
      if (t == &add && !c.add) continue;
      t->sizes.erase(t->sizes.begin() + static_cast<ptrdiff_t>(d));
      t->strides.erase(t->strides.begin() + static_cast<ptrdiff_t>(d));
    }
    sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(d));
    sizes[d] = n;
    --r;
  }
  // a: [batch.., m, n(unused), k] -> [batch.., m, k]; b: [batch.., m(unused), n, k] -> [batch.., k, n].
  const auto at = [&](size_t d) { return static_cast<ptrdiff_t>(d); };
  const int64_t k = product(c.inner);
  a.sizes = sizes, b.sizes = sizes;
  a.sizes.push_back(k), b.sizes.push_back(k);
  a.sizes.erase(a.sizes.begin() + at(r - 1)), a.strides.erase(a.strides.begin() + at(r - 1));
  b.sizes.erase(b.sizes.begin() + at(r - 2)), b.strides.erase(b.strides.begin() + at(r - 2));
  std::swap(b.sizes[r - 2], b.sizes[r - 1]), std::swap(b.strides[r - 2], b.strides[r - 1]);
  if (c.add) add.sizes = sizes;
  ir::Tensor y = out;
  y.sizes = sizes;
  y.strides = ir::contiguous_strides(sizes);
  multiply(a, b, c.add ? &add : nullptr, c.f, c.min, c.max, y);
}

Point contraction_point(const Contraction& c) {
  return arithmetic_point(c.dtype, [c]<class R>(const auto& in, Index at, R) -> R {
    std::array<int64_t, kMaxRank> inner{};
    IndexBuffer buffer[2];
    const auto index = [&](const Side& s, IndexBuffer& to) {
      for (size_t d = 0; d < s.from.size(); ++d) {
        const int f = s.from[d];
        to[d] = f >= 0 ? at[static_cast<size_t>(f)] : f == Side::kFirst ? 0 : inner[static_cast<size_t>(~f)];
      }
      return Index(to.data(), s.from.size());
    };
    Sum<R> sum;
    DenseFactors dense;
    if constexpr (!std::is_same_v<R, int64_t>)
      if (c.inner.size() == 1) dense = dense_factors(in, c.a.operand, c.b.operand);
    if (dense) {
      if constexpr (!std::is_same_v<R, int64_t>)
        add_products(sum, c.inner[0], dense.a->data + dense.a->offset_of(index(c.a, buffer[0])) * 4,
                     strides_of(c.a, *dense.a, at.size(), 1).back(),
                     dense.b->data + dense.b->offset_of(index(c.b, buffer[1])) * 4,
                     strides_of(c.b, *dense.b, at.size(), 1).back());
    } else if (product(c.inner) > 0)
      do {
        sum.add(times<R>(element<R>(in, c.a.operand, index(c.a, buffer[0])),
                         element<R>(in, c.b.operand, index(c.b, buffer[1]))));
      } while (next_index({inner.data(), c.inner.size()}, c.inner));
    const R extra = c.add && c.f.beta.f != 0 ? element<R>(in, c.add->operand, index(*c.add, buffer[0])) : R(0);
    return clamped(c.f.apply<R>(c.dtype, sum.get(), extra), c.min, c.max);
  });
}

OpDef contraction(std::string schema, std::function<Result<Types>(const Call&)> infer,
                  std::function<Contraction(const Call&)> make, std::string stock) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = std::move(infer);
  d.eval = [make](const Call& c, size_t) -> Result<Point> { return contraction_point(make(c)); };
  d.whole = [make](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    contraction_whole(make(c), in, out[0]);
    return {};
  };
  d.stock = std::move(stock);
  d.agreement = Agreement::kReassociated;
  return d;
}

Side broadcast_side(const Call& c, int operand, size_t result_rank) {
  const Shape& s = c.type(operand).shape;
  Side side{operand, {}};
  for (size_t d = 0; d < s.size(); ++d)
    side.from.push_back(s[d] == Dim(1) ? Side::kFirst : static_cast<int>(result_rank - s.size() + d));
  return side;
}

void check_product(const Call& c, const TensorType& a, const TensorType& b, const Dim& inner_a, const Dim& inner_b) {
  if (a.dtype != b.dtype)
    c.error(fmt::format("operands are {} and {}; they must have one dtype", name(a.dtype), name(b.dtype)));
  if (!is_float(a.dtype) && !is_int(a.dtype)) c.error(fmt::format("operands are {}", name(a.dtype)));
  if (differ(inner_a, inner_b)) c.error(fmt::format("inner sizes {} and {} differ", inner_a.str(), inner_b.str()));
}

}  // namespace edgewright::ops
