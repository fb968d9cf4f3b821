// src/ops/scaled_dot_product_attention.cc - softmax(q k^T * scale + mask) v, and the forms that an export may hold of it.
// A row whose every position is masked with -inf gives zeros, as in PyTorch. Dropout is refused.
#include "ops/form.h"
#include "ops/gemm.h"
#include "ops/masks.h"
#include "ops/products.h"
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

// Results after the output: nothing, logsumexp of the scores (natural), or the weights.
enum class Extra : uint8_t { kNone, kLogSumExp, kWeights };
struct Form {
  Extra extra;
  const char* mask;
  bool may_group;  // has enable_gqa
  // The inner form adds a bool mask as a number; the others keep what is true.
  bool masks_by_bool() const { return extra != Extra::kWeights; }
};

struct Sdpa {
  int q, k, v, mask;
  int64_t rank = 0, length = 0, source = 0, width = 0, value_width = 0;  // L, S, E, Ev; set for concrete calls
  Shape batch;                                                           // of the result
  int64_t repeat = 1;                                                    // query heads per key head
  double scale = 1;
  bool causal = false;
};

Sdpa read(const Form& f, const Call& c) {
  Sdpa s{c.operand("query"), c.operand("key"), c.operand("value"), c.operand(f.mask)};
  const TensorType &q = c.type(s.q), &k = c.type(s.k), &v = c.type(s.v);
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2) c.error("[sdpa.1] query, key and value need two dims");
  if (!is_float(q.dtype) || q.dtype != k.dtype || q.dtype != v.dtype)
    c.error("[sdpa.2] query, key and value must have one float dtype");
  if (c.f("dropout_p") != 0) c.error("[sdpa.3] dropout; export the model in eval mode");
  if (c.failed()) return s;
  s.rank = static_cast<int64_t>(q.rank());
  s.causal = c.flag("is_causal");
  if (s.causal && s.mask >= 0) c.error("[sdpa.4] both a mask and is_causal");
  const Dim &e = q.shape.back(), &length = q.shape[q.rank() - 2], &source = k.shape[k.rank() - 2];
  if (differ(e, k.shape.back())) c.error("[sdpa.5] query and key have different widths");
  if (differ(source, v.shape[v.rank() - 2])) c.error("[sdpa.5] key and value have different lengths");
  const auto batch_of = [](const TensorType& t) { return Shape(t.shape.begin(), t.shape.end() - 2); };
  Shape kb = batch_of(k), vb = batch_of(v);
  const Shape qb = batch_of(q);
  if (f.may_group && c.flag("enable_gqa") && !qb.empty() && !kb.empty() && !vb.empty()) {
    const Dim &hq = qb.back(), &hk = kb.back();
    if (!hq.is_constant() || !hk.is_constant() || !vb.back().is_constant())
      c.error("[sdpa.6] the number of heads is known only at run time");
    else if (hk.value() < 1 || hq.value() % hk.value() != 0 || vb.back().value() != hk.value())
      c.error("[sdpa.6] query heads are not a multiple of key heads");
    else
      s.repeat = hq.value() / hk.value();
    kb.back() = vb.back() = hq;
  }
  s.batch = broadcast(c, broadcast(c, qb, kb), vb);
  if (c.has("scale"))
    s.scale = c.f("scale");
  else if (e.is_constant())
    s.scale = 1 / std::sqrt(static_cast<double>(e.value()));
  else
    c.error("[sdpa.7] no scale, and the width is known only at run time");
  if (s.mask >= 0) {
    const TensorType& m = c.type(s.mask);
    if (!is_bool(m.dtype) && !is_float(m.dtype)) c.error(fmt::format("[sdpa.8] the mask is {}", name(m.dtype)));
    Shape scores = s.batch;
    scores.push_back(length);
    scores.push_back(source);
    const Shape both = broadcast(c, scores, m.shape);
    if (both.size() != scores.size()) c.error("[sdpa.8] the mask has more dims than the scores");
    for (size_t d = 0; d < scores.size() && !c.failed(); ++d)
      if (differ(both[d], scores[d])) c.error("[sdpa.8] the mask does not expand to the scores");
  }
  s.length = length.maybe().value_or(0);
  s.source = source.maybe().value_or(0);
  s.width = e.maybe().value_or(0);
  s.value_width = v.shape.back().maybe().value_or(0);
  return s;
}

Result<Types> rule(const Form& f, const Call& c) {
  const Sdpa s = read(f, c);
  if (c.failed()) return Types{};
  const TensorType &q = c.type(s.q), &k = c.type(s.k), &v = c.type(s.v);
  Shape out = s.batch, scores = s.batch;
  out.push_back(q.shape[q.rank() - 2]);
  scores.push_back(q.shape[q.rank() - 2]);
  out.push_back(v.shape.back());
  Types t{TensorType{q.dtype, out}};
  if (f.extra == Extra::kLogSumExp) t.push_back(TensorType{q.dtype == DType::f64 ? DType::f64 : DType::f32, scores});
  if (f.extra == Extra::kWeights) {
    scores.push_back(k.shape[k.rank() - 2]);
    t.push_back(TensorType{q.dtype, scores});
  }
  return t;
}

// Index of a row or element of an operand for a batch index of the result: right-aligned, broadcast, heads divided by `repeat`.
Index batch_index(const Shape& own, Index batch, int64_t repeat, std::initializer_list<int64_t> last, IndexBuffer& to) {
  const size_t n = own.size() - 2, skip = batch.size() - n;
  for (size_t d = 0; d < n; ++d) to[d] = own[d] == Dim(1) ? 0 : batch[skip + d] / (d + 1 == n ? repeat : 1);
  size_t at = n;
  for (int64_t i : last) to[at++] = i;
  return Index(to.data(), at);
}

Result<Point> eval(const Form& f, const Call& c, size_t r) {
  const Sdpa s = read(f, c);
  if (c.failed()) return Point{};
  const Shape qs = c.type(s.q).shape, ks = c.type(s.k).shape, vs = c.type(s.v).shape;
  const std::vector<int64_t> ms = s.mask >= 0 ? ir::static_sizes(c.type(s.mask).shape) : std::vector<int64_t>();
  const bool bool_mask = s.mask >= 0 && f.masks_by_bool() && is_bool(c.type(s.mask).dtype);
  const size_t nb = s.batch.size();
  const double scale = scalar_for(c.type(s.q).dtype, s.scale);
  return float_point([=](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    const Index batch = at.first(nb);
    const int64_t l = at[nb];
    IndexBuffer x, y;
    std::vector<R> row;
    double largest = -INFINITY;
    for (int64_t p = 0; p < s.source; ++p) {
      if (s.causal && p > l) {
        row.push_back(R(-INFINITY));
        continue;
      }
      Sum<R> sum;
      for (int64_t e = 0; e < s.width; ++e)
        sum.add(in.f(s.q, batch_index(qs, batch, 1, {l, e}, x)) *
                in.f(s.k, batch_index(ks, batch, s.repeat, {p, e}, y)));
      R score = sum.get() * R(scale);
      if (s.mask >= 0) {
        std::copy(batch.begin(), batch.end(), y.begin());
        y[nb] = l;
        y[nb + 1] = p;
        const Index m = broadcast_index(Index(y.data(), nb + 2), ms, x);
        if (!bool_mask)
          score = score + in.f(s.mask, m);
        else if (in.i(s.mask, m) == 0)
          score = R(-INFINITY);
      }
      row.push_back(score);
      if (!(num::value(score) <= largest)) largest = num::value(score);  // NaN, too
    }
    if (largest == -INFINITY) return r == 1 && f.extra == Extra::kLogSumExp ? R(-INFINITY) : R(0.0);
    Sum<R> total;
    for (R& v : row) {
      v = num::value(v) == -INFINITY ? R(0.0) : num::exp(v - R(largest));
      total.add(v);
    }
    if (r == 1)
      return f.extra == Extra::kLogSumExp ? num::log(total.get()) + R(largest)
                                          : row[static_cast<size_t>(at[nb + 1])] / total.get();
    Sum<R> out;
    for (int64_t p = 0; p < s.source; ++p)
      out.add(row[static_cast<size_t>(p)] * in.f(s.v, batch_index(vs, batch, s.repeat, {p, at[nb + 1]}, x)));
    return out.get() / total.get();
  });
}

Result<void> whole(const Form& f, const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const Sdpa s = read(f, c);
  if (c.failed()) return {};
  const ir::Tensor q = f32_or_f64(in[static_cast<size_t>(s.q)]), k = f32_or_f64(in[static_cast<size_t>(s.k)]),
                   v = f32_or_f64(in[static_cast<size_t>(s.v)]);
  const Shape qs = c.type(s.q).shape, ks = c.type(s.k).shape, vs = c.type(s.v).shape;
  const std::vector<int64_t> batch_sizes = ir::static_sizes(s.batch);
  std::vector<int64_t> scores_sizes = batch_sizes;
  scores_sizes.push_back(s.length);
  scores_sizes.push_back(s.source);
  ir::Tensor m;
  bool bool_mask = false;
  if (s.mask >= 0) {
    m = broadcast_view(in[static_cast<size_t>(s.mask)], scores_sizes);
    bool_mask = f.masks_by_bool() && is_bool(m.dtype);
  }
  const double scale = scalar_for(c.type(s.q).dtype, s.scale);
  std::vector<double> result(static_cast<size_t>(out[0].numel())),
      extra(f.extra == Extra::kNone ? 0 : static_cast<size_t>(out[1].numel()));
  std::vector<double> w(static_cast<size_t>(s.length * s.source));
  std::vector<int64_t> at(batch_sizes.size(), 0);
  int64_t number = 0;
  if (product(batch_sizes) == 0) return {};
  do {
    IndexBuffer x;
    const int64_t qo = q.offset_of(batch_index(qs, at, 1, {0, 0}, x)),
                  ko = k.offset_of(batch_index(ks, at, s.repeat, {0, 0}, x)),
                  vo = v.offset_of(batch_index(vs, at, s.repeat, {0, 0}, x));
    const auto matrix = [](const ir::Tensor& t, int64_t offset, size_t i_dim, size_t k_dim, int64_t width) {
      const size_t r = t.sizes.size();
      return visit_float(t, [&](const auto* p) {
        return pack_strided(p + offset, t.strides[r - i_dim], t.strides[r - k_dim], width);
      });
    };
    gemm(s.length, s.source, s.width, matrix(q, qo, 2, 1, kGemmRows), matrix(k, ko, 2, 1, kGemmCols),
         [&](int64_t i0, int64_t rows, int64_t j0, int64_t cols, const double* sums, int64_t stride) {
           for (int64_t i = 0; i < rows; ++i)
             for (int64_t j = 0; j < cols; ++j)
               w[static_cast<size_t>((i0 + i) * s.source + j0 + j)] = sums[i * stride + j] * scale;
         });
    for (int64_t l = 0; l < s.length; ++l) {
      double* row = w.data() + l * s.source;
      double largest = -INFINITY, total = 0;
      for (int64_t p = 0; p < s.source; ++p) {
        if (s.causal && p > l) row[p] = -INFINITY;
        if (s.mask >= 0) {
          int64_t o = l * m.strides[at.size()] + p * m.strides[at.size() + 1];
          for (size_t d = 0; d < at.size(); ++d) o += at[d] * m.strides[d];
          const double value = ir::load_f(m.dtype, m.data, o);
          if (!bool_mask)
            row[p] += value;
          else if (value == 0)
            row[p] = -INFINITY;
        }
        if (!(row[p] <= largest)) largest = row[p];
      }
      for (int64_t p = 0; p < s.source; ++p)
        total += row[p] = largest == -INFINITY || row[p] == -INFINITY ? 0 : std::exp(row[p] - largest);
      for (int64_t p = 0; p < s.source && largest != -INFINITY; ++p) row[p] /= total;
      if (f.extra == Extra::kLogSumExp)
        extra[static_cast<size_t>(number * s.length + l)] =
            largest == -INFINITY ? -INFINITY : std::log(total) + largest;
    }
    if (f.extra == Extra::kWeights)
      std::copy(w.begin(), w.end(), extra.begin() + static_cast<ptrdiff_t>(number * s.length * s.source));
    gemm(s.length, s.value_width, s.source, pack_strided(w.data(), s.source, 1, kGemmRows),
         matrix(v, vo, 1, 2, kGemmCols),
         [&](int64_t i0, int64_t rows, int64_t j0, int64_t cols, const double* sums, int64_t stride) {
           for (int64_t i = 0; i < rows; ++i)
             for (int64_t j = 0; j < cols; ++j)
               result[static_cast<size_t>((number * s.length + i0 + i) * s.value_width + j0 + j)] =
                   sums[i * stride + j];
         });
    ++number;
  } while (next_index(at, batch_sizes));
  assign(out[0], result);
  if (f.extra != Extra::kNone) assign(out[1], extra);
  return {};
}

Result<std::vector<ir::Value*>> decompose(const Form& f, const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const Sdpa s = read(f, c);
  if (c.failed()) return fail(Code::kInternal, "{}: {}", n.name(), *c.failed());
  ir::Value *q = n.arg("query").value(), *k = n.arg("key").value(), *v = n.arg("value").value(),
            *mask = n.arg(f.mask).value();
  const DType t = q->tensor()->dtype;
  if (s.repeat > 1) {
    k = b("aten.repeat_interleave.self_int", {k, s.repeat, -3});
    v = b("aten.repeat_interleave.self_int", {v, s.repeat, -3});
  }
  // Where a whole row is masked, the mask is lifted from it and its output multiplied by 0: elsewhere nothing changes.
  ir::Value* keep = nullptr;
  if (s.causal) {
    if (!q->tensor()->shape[q->tensor()->rank() - 2].is_constant() ||
        !c.type(s.k).shape[c.type(s.k).rank() - 2].is_constant())
      return std::vector<ir::Value*>{};  // a triangle of unknown size
    ir::Tensor triangle = ir::Tensor::empty(t, {s.length, s.source});
    for (int64_t i = 0; i < s.length * s.source; ++i)
      ir::store_f(t, triangle.mutable_data(), i, i % s.source > i / s.source ? -INFINITY : 0);
    mask = b.constant(triangle, "causal_mask");
  } else if (mask) {
    if (!f.masks_by_bool() && is_bool(mask->tensor()->dtype)) mask = b("aten.to.dtype", {mask, t});
    if (!mask) return b.done({});
    const bool is_bool_mask = is_bool(mask->tensor()->dtype);
    const bool lifted = !has_no_full_row(mask);
    ir::Value* full = nullptr;
    if (lifted) {
      ir::Value* open = is_bool_mask ? mask : b("aten.ne.Scalar", {mask, -INFINITY});
      ir::Value* any = b("aten.any.dim", {open, -1, true});
      full = b("aten.logical_not", {any});
      keep = b("aten.to.dtype", {any, t});
    }
    if (is_bool_mask) {
      // where(mask, 0, -inf) in the scores' dtype
      mask = b("aten.where.self", {mask, b.scalar(t, 0), b.scalar(t, -INFINITY)});
    }
    if (lifted) mask = b("aten.masked_fill.Scalar", {mask, full, 0});
  }
  ir::Value* scores = b("aten.matmul", {b("aten.mul.Scalar", {q, s.scale}), b("aten.transpose.int", {k, -2, -1})});
  if (mask) scores = b("aten.add.Tensor", {scores, mask});
  ir::Value* weights = b("aten._softmax", {scores, -1, false});
  ir::Value* y = b("aten.matmul", {weights, v});
  if (keep) y = b("aten.mul.Tensor", {y, keep});
  if (b.failed()) return b.done({});
  if (y->tensor()->dtype != t) y = b("aten.to.dtype", {y, t});
  std::vector<ir::Value*> out{y};
  if (f.extra == Extra::kLogSumExp) {
    ir::Value* lse = b("aten.logsumexp", {scores, ir::Arg::ints({-1})});
    if (keep) {  // log of nothing
      ir::Value* closed = b("aten.squeeze.dim", {b("aten.log", {keep}), -1});
      lse = b("aten.add.Tensor", {lse, closed});
    }
    if (!b.failed() && lse->tensor()->dtype != n.result(1)->tensor()->dtype)
      lse = b("aten.to.dtype", {lse, n.result(1)->tensor()->dtype});
    out.push_back(lse);
  }
  if (f.extra == Extra::kWeights) out.push_back(keep ? b("aten.mul.Tensor", {weights, keep}) : weights);
  return b.done(out);
}

OpDef definition(std::string schema, Form f) {
  return formed<Form>(std::move(schema), f, {rule, eval, whole, decompose}, Agreement::kApproximate);
}

}  // namespace

std::vector<OpDef> define_scaled_dot_product_attention() {
  return {definition("aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
                     "attn_mask=None, float dropout_p=0., bool is_causal=False, *, "
                     "float? scale=None, bool enable_gqa=False) -> Tensor",
                     {Extra::kNone, "attn_mask", true}),
          definition("aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float "
                     "dropout_p=0., bool is_causal=False, *, "
                     "Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
                     {Extra::kLogSumExp, "attn_mask", false}),
          definition("aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? "
                     "attn_mask=None, float dropout_p=0., bool is_causal=False, "
                     "Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
                     {Extra::kWeights, "attn_mask", true})};
}
}  // namespace edgewright::ops
