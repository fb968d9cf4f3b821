// src/runtime/kernels/linear.cc - matrix products. XNNPACK takes most of them; these serve what stays outside of delegates.
#include "runtime/kernels/linear.h"

#include "runtime/kernels/tables.h"

namespace edgewright::runtime {
namespace {

// A block of kRows x kCols results in registers; b is walked along its rows.
constexpr int64_t kRows = 4, kCols = 16, kDepth = 256;

typedef float Vec8 __attribute__((vector_size(32), aligned(4)));

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define EW_CLONES __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define EW_CLONES
#endif

// out[rows x 16] += a[rows x depth] * b[depth x 16], rows up to 4. lda, ldb, ldo in elements; a may have any strides.
EW_CLONES void block16(const float* a, int64_t a_row, int64_t a_col, const float* b, int64_t ldb, float* out,
                       int64_t ldo, int64_t rows, int64_t depth) {
  if (rows == kRows) {
    Vec8 s[kRows][2];
    for (int64_t i = 0; i < kRows; ++i) {
      s[i][0] = *reinterpret_cast<const Vec8*>(out + i * ldo);
      s[i][1] = *reinterpret_cast<const Vec8*>(out + i * ldo + 8);
    }
    for (int64_t k = 0; k < depth; ++k) {
      const Vec8 b0 = *reinterpret_cast<const Vec8*>(b + k * ldb), b1 = *reinterpret_cast<const Vec8*>(b + k * ldb + 8);
      for (int64_t i = 0; i < kRows; ++i) {
        const float v = a[i * a_row + k * a_col];
        s[i][0] += v * b0;
        s[i][1] += v * b1;
      }
    }
    for (int64_t i = 0; i < kRows; ++i) {
      *reinterpret_cast<Vec8*>(out + i * ldo) = s[i][0];
      *reinterpret_cast<Vec8*>(out + i * ldo + 8) = s[i][1];
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
    Vec8 s0 = *reinterpret_cast<const Vec8*>(out + i * ldo), s1 = *reinterpret_cast<const Vec8*>(out + i * ldo + 8);
    for (int64_t k = 0; k < depth; ++k) {
      const float v = a[i * a_row + k * a_col];
      s0 += v * *reinterpret_cast<const Vec8*>(b + k * ldb);
      s1 += v * *reinterpret_cast<const Vec8*>(b + k * ldb + 8);
    }
    *reinterpret_cast<Vec8*>(out + i * ldo) = s0;
    *reinterpret_cast<Vec8*>(out + i * ldo + 8) = s1;
  }
}

}  // namespace

void gemm_f32(pthreadpool* pool, const MatrixF32& a, const MatrixF32& b, float* out, int64_t ldo, int64_t m, int64_t n,
              int64_t k) {
  const int64_t panels = (n + kCols - 1) / kCols;
  // One panel of 16 columns at a time: its part of b is brought into rows of 16 (b may be transposed, or end inside a panel).
  parallel_for(pool, panels, std::max<int64_t>(1, 65536 / (m * k + 1)), [&](int64_t begin, int64_t end) {
    alignas(64) float packed[kDepth * kCols];
    alignas(64) float edge[kRows * kCols];
    for (int64_t p = begin; p < end; ++p) {
      const int64_t j0 = p * kCols, cols = std::min(kCols, n - j0);
      for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
        const int64_t depth = std::min(kDepth, k - k0);
        const float* panel = b.data + k0 * b.row + j0 * b.col;
        int64_t ldb = b.row;
        if (b.col != 1 || cols < kCols) {
          for (int64_t i = 0; i < depth; ++i)
            for (int64_t j = 0; j < kCols; ++j) packed[i * kCols + j] = j < cols ? panel[i * b.row + j * b.col] : 0.0f;
          panel = packed;
          ldb = kCols;
        }
        for (int64_t i0 = 0; i0 < m; i0 += kRows) {
          const int64_t rows = std::min(kRows, m - i0);
          const float* left = a.data + i0 * a.row + k0 * a.col;
          float* to = out + i0 * ldo + j0;
          if (cols == kCols) {
            block16(left, a.row, a.col, panel, ldb, to, ldo, rows, depth);
          } else {
            for (int64_t i = 0; i < rows; ++i)
              for (int64_t j = 0; j < kCols; ++j) edge[i * kCols + j] = j < cols ? to[i * ldo + j] : 0.0f;
            block16(left, a.row, a.col, panel, ldb, edge, kCols, rows, depth);
            for (int64_t i = 0; i < rows; ++i)
              for (int64_t j = 0; j < cols; ++j) to[i * ldo + j] = edge[i * kCols + j];
          }
        }
      }
    }
  });
}

namespace {

// out[m x n] = beta * self + alpha * a @ b for one matrix of a batch; offsets in elements.
struct Product {
  const Tensor *self, *a, *b;
  Tensor* out;
  size_t ar, ac, br, bc, orow, ocol;  // dims of rows and columns
  double beta, alpha;
  const EValue *beta_value, *alpha_value;
};

bool is_f32(const Product& p) {
  return p.a->dtype == DType::f32 && p.b->dtype == DType::f32 && p.out->dtype == DType::f32 &&
         (!p.self || p.self->dtype == DType::f32);
}

template <class C>
void product(const Product& p, int64_t a0, int64_t b0, int64_t o0, const Strides& self_strides, int64_t m, int64_t n,
             int64_t k, pthreadpool* pool) {
  const C beta = p.beta_value ? scalar_as<C>(*p.beta_value) : C{1},
          alpha = p.alpha_value ? scalar_as<C>(*p.alpha_value) : C{1};
  parallel_for(pool, m, std::max<int64_t>(1, 16384 / (n * k + 1)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < n; ++j) {
        using Sum = std::conditional_t<std::is_integral_v<C>, uint64_t, double>;
        Sum s = 0;
        for (int64_t q = 0; q < k; ++q)
          s += static_cast<Sum>(load_one<C>(*p.a, a0 + i * p.a->strides[p.ar] + q * p.a->strides[p.ac])) *
               static_cast<Sum>(load_one<C>(*p.b, b0 + q * p.b->strides[p.br] + j * p.b->strides[p.bc]));
        Sum v = static_cast<Sum>(alpha) * s;
        if (p.self && beta != 0)
          v += static_cast<Sum>(beta) *
               static_cast<Sum>(load_one<C>(*p.self, i * self_strides[0] + j * self_strides[1]));
        store_one<C>(*p.out, o0 + i * p.out->strides[p.orow] + j * p.out->strides[p.ocol], static_cast<C>(v));
      }
  });
}

Result<void> run(Call& c, const Product& p, int64_t batch, int64_t m, int64_t n, int64_t k) {
  if (!plain({p.a, p.b, p.out}) || p.a->dtype != p.b->dtype) return c.unsupported(p.b->dtype);
  if (m == 0 || n == 0) return {};
  Strides self_strides{};
  if (p.self) self_strides = broadcast_strides(*p.self, p.out->shape());
  const bool fast = is_f32(p) && p.out->strides[p.ocol] == 1;
  for (int64_t i = 0; i < batch; ++i) {
    const auto at = [&](const Tensor& t) { return batch > 1 || t.rank == 3 ? i * t.strides[0] : 0; };
    if (fast) {
      float* out = p.out->as<float>() + at(*p.out);
      const int64_t ldo = p.out->strides[p.orow];
      // beta of zero ignores self, NaN and all.
      const auto scaled_self = [&](int64_t r, int64_t q) {
        return p.self && p.beta != 0
                   ? static_cast<float>(p.beta) * p.self->as<float>()[r * self_strides[0] + q * self_strides[1]]
                   : 0.0f;
      };
      for (int64_t r = 0; r < m; ++r)
        for (int64_t q = 0; q < n; ++q) out[r * ldo + q] = p.alpha == 1 ? scaled_self(r, q) : 0.0f;
      gemm_f32(c.pool(), {p.a->as<float>() + at(*p.a), p.a->strides[p.ar], p.a->strides[p.ac]},
               {p.b->as<float>() + at(*p.b), p.b->strides[p.br], p.b->strides[p.bc]}, out, ldo, m, n, k);
      if (p.alpha == 1) continue;
      for (int64_t r = 0; r < m; ++r)
        for (int64_t q = 0; q < n; ++q)
          out[r * ldo + q] = static_cast<float>(p.alpha) * out[r * ldo + q] + scaled_self(r, q);
    } else {
      visit_compute(compute_of(p.out->dtype), [&]<class C>(C) {
        product<C>(p, at(*p.a), at(*p.b), at(*p.out), self_strides, m, n, k, c.pool());
      });
    }
  }
  return {};
}

Result<void> mm(Call& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (a.rank != 2 || b.rank != 2 || a.sizes[1] != b.sizes[0])
    return c.fail(Code::kUsage, "[{}] and [{}] do not multiply", fmt::join(a.shape(), ", "),
                  fmt::join(b.shape(), ", "));
  const int64_t sizes[] = {a.sizes[0], b.sizes[1]};
  EW_TRY(c.resize(out, sizes));
  return run(c, {nullptr, &a, &b, &out, 0, 1, 0, 1, 0, 1, 0, 1, nullptr, nullptr}, 1, a.sizes[0], b.sizes[1],
             a.sizes[1]);
}

Result<void> bmm(Call& c) {
  const Tensor &a = c.in(0), &b = c.in(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (a.rank != 3 || b.rank != 3 || a.sizes[0] != b.sizes[0] || a.sizes[2] != b.sizes[1])
    return c.fail(Code::kUsage, "[{}] and [{}] do not multiply", fmt::join(a.shape(), ", "),
                  fmt::join(b.shape(), ", "));
  const int64_t sizes[] = {a.sizes[0], a.sizes[1], b.sizes[2]};
  EW_TRY(c.resize(out, sizes));
  return run(c, {nullptr, &a, &b, &out, 1, 2, 1, 2, 1, 2, 0, 1, nullptr, nullptr}, a.sizes[0], a.sizes[1], b.sizes[2],
             a.sizes[2]);
}

// addmm(self, mat1, mat2, beta, alpha)
Result<void> addmm(Call& c) {
  const Tensor &self = c.in(0), &a = c.in(1), &b = c.in(2);
  const EValue &beta = c.scalar(3), &alpha = c.scalar(4);
  Tensor& out = c.out(5);
  EW_TRY(c.ok());
  if (a.rank != 2 || b.rank != 2 || a.sizes[1] != b.sizes[0])
    return c.fail(Code::kUsage, "[{}] and [{}] do not multiply", fmt::join(a.shape(), ", "),
                  fmt::join(b.shape(), ", "));
  const int64_t sizes[] = {a.sizes[0], b.sizes[1]};
  EW_TRY(c.resize(out, sizes));
  Shape s = shape_of(out);
  if (!broadcast(s, self) || s.rank != 2 || s[0] != sizes[0] || s[1] != sizes[1])
    return c.fail(Code::kUsage, "[{}] does not broadcast to the product", fmt::join(self.shape(), ", "));
  return run(c,
             {&self, &a, &b, &out, 0, 1, 0, 1, 0, 1, scalar_as<double>(beta), scalar_as<double>(alpha), &beta, &alpha},
             1, sizes[0], sizes[1], a.sizes[1]);
}

// linear(input, weight, bias?): input[..., k] @ weight[n, k]^T; a weight[k] gives one number less a dimension.
Result<void> linear(Call& c) {
  const Tensor& x = c.in(0);
  Tensor w = c.in(1);
  const bool vector = w.rank == 1;
  if (vector) {
    w.rank = 2;
    w.sizes[1] = w.sizes[0];
    w.sizes[0] = 1;
    w.strides = {w.sizes[1], 1};
  }
  const Tensor* bias = c.optional_in(2);
  Tensor& out = c.out(3);
  EW_TRY(c.ok());
  if (x.rank == 0 || w.rank != 2 || x.sizes[x.rank - 1] != w.sizes[1] ||
      (bias && (bias->rank > 1 || bias->numel() != w.sizes[0])))
    return c.fail(Code::kUsage, "input [{}] and weight [{}] do not go together", fmt::join(x.shape(), ", "),
                  fmt::join(w.shape(), ", "));
  if (!x.contiguous()) return c.fail(Code::kUnsupported, "an input that is not in C order");
  Shape s = shape_of(x);
  s[x.rank - 1] = w.sizes[0];
  s.rank -= vector;
  EW_TRY(c.resize(out, s.span()));
  if (!out.contiguous()) return c.fail(Code::kUnsupported, "an output that is not in C order");
  // Both seen as matrices.
  Tensor a = x, b = w, o = out;
  const int64_t k = w.sizes[1], n = w.sizes[0], m = k == 0 ? (n == 0 ? 0 : out.numel() / n) : x.numel() / k;
  a.rank = o.rank = 2;
  a.sizes[0] = o.sizes[0] = m;
  a.sizes[1] = k;
  o.sizes[1] = n;
  a.order = o.order = {0, 1};
  a.set_strides();
  o.set_strides();
  return run(c, {bias, &a, &b, &o, 0, 1, 1, 0, 0, 1, 1, 1, nullptr, nullptr}, 1, m, n, k);
}

constexpr Kernel kTable[] = {
    {"aten::addmm.out", addmm},
    {"aten::bmm.out", bmm},
    {"aten::linear.out", linear},
    {"aten::mm.out", mm},
};
static_assert(sorted_by_name(kTable));

}  // namespace
const std::span<const Kernel> kLinearKernels = kTable;
}  // namespace edgewright::runtime
