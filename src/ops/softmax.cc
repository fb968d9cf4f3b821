// src/ops/softmax.cc - aten.softmax, log_softmax, _softmax, _log_softmax, _safe_softmax: along one dim.
#include "ops/dense.h"
#include "ops/extremes.h"

namespace edgewright::ops {
namespace {

enum class Kind : uint8_t { kSoftmax, kLog, kSafe };

DType dtype_of_call(const Call& c) {
  const DType own = c.type(0).dtype;
  const auto& s = c.op().schema;
  if (s.index_of("dtype") >= 0) return c.dtype("dtype").value_or(is_float(own) ? own : kDefaultFloat);
  return c.flag("half_to_float") && own == DType::f16 ? DType::f32 : own;
}

Result<Types> rule(const Call& c) {
  const TensorType& x = c.tensor("self");
  c.axis("dim", static_cast<int64_t>(x.rank()));
  const DType t = dtype_of_call(c);
  if (!is_float(t)) c.error(fmt::format("[softmax.1] not defined on {}", name(t)));
  if (!is_number(x.dtype)) c.error(fmt::format("[softmax.1] not defined on {}", name(x.dtype)));
  return Types{TensorType{t, x.shape}};
}

// One row, in place; any shift by a number near the largest gives the same real numbers.
template <class R>
R normalizer(std::span<const R> x, double largest, Kind kind) {
  Sum<R> s;
  for (const R& v : x) s.add(num::exp(v - R(largest)));
  return kind == Kind::kLog ? num::log(s.get()) : s.get();
}
template <class R>
R normalized(R x, double largest, R normalizer, Kind kind) {
  if (kind == Kind::kLog) return x - R(largest) - normalizer;
  if (kind == Kind::kSafe && largest == -INFINITY) return R(0);  // a fully masked row
  return num::exp(x - R(largest)) / normalizer;
}

Result<Point> eval(Kind kind, const Call& c) {
  const auto dim = static_cast<size_t>(c.axis("dim", c.rank("self")));
  const Shape& s = c.type(0).shape;
  const int64_t n = s.empty() ? 1 : s[dim].value();
  const DType t = dtype_of_call(c);
  const bool casts = t != c.type(0).dtype && (t == DType::f16 || t == DType::bf16 || c.type(0).dtype == DType::f64 ||
                                              !is_float(c.type(0).dtype));
  return float_point([=](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    IndexBuffer index;
    std::copy(at.begin(), at.end(), index.begin());
    std::vector<R> row;
    const auto load = [&] {
      R v = in.f(0, Index(index.data(), at.size()));
      if (casts) {
        if constexpr (std::is_same_v<R, double>)
          v = cast_f(t, v);
        else
          v.v = cast_f(t, v.v);
      }
      return v;
    };
    for (int64_t k = 0; k < n; ++k) {
      if (!at.empty()) index[dim] = k;
      row.push_back(load());
    }
    const double largest = num::value(extreme(std::span<const R>(row), true));
    return normalized(row[at.empty() ? 0 : static_cast<size_t>(at[dim])], largest,
                      normalizer(std::span<const R>(row), largest, kind), kind);
  });
}

Result<void> whole(Kind kind, const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const auto dim = static_cast<size_t>(c.axis("dim", c.rank("self")));
  const DType t = out[0].dtype;
  std::vector<double> x = to_doubles(in[0]);
  if (t != in[0].dtype)
    for (double& v : x) v = cast_f(t, v);
  const auto& sizes = in[0].sizes;
  const int64_t n = sizes.empty() ? 1 : sizes[dim];
  int64_t inner = 1;
  for (size_t d = dim + 1; d < sizes.size(); ++d) inner *= sizes[d];
  if (x.empty()) return {};
  const int64_t outer = static_cast<int64_t>(x.size()) / (n * inner);
  std::vector<double> row(static_cast<size_t>(n));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      double* p = &x[static_cast<size_t>(o * n * inner + i)];
      for (int64_t k = 0; k < n; ++k) row[static_cast<size_t>(k)] = p[k * inner];
      const double largest = extreme(std::span<const double>(row), true);
      if (kind == Kind::kLog) {
        const double z = normalizer(std::span<const double>(row), largest, kind);
        for (int64_t k = 0; k < n; ++k) p[k * inner] = normalized(row[static_cast<size_t>(k)], largest, z, kind);
        continue;
      }
      double sum = 0;
      for (double& v : row) sum += v = std::exp(v - largest);
      for (int64_t k = 0; k < n; ++k)
        p[k * inner] = kind == Kind::kSafe && largest == -INFINITY ? 0 : row[static_cast<size_t>(k)] / sum;
    }
  assign(out[0], x);
  return {};
}

// XNNPACK normalizes the last dim; another one is brought there and back.
Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  const Call c = Call::of(n);
  const auto dim = static_cast<size_t>(c.axis("dim", c.rank("self")));
  if (dtype_of_call(c) != DType::f32 || c.type(0).dtype != DType::f32)
    return fail(Code::kKeptOnHost, "softmax of something that is not f32");
  const ir::Value* x = n.arg("self").value();
  const Shape& s = x->tensor()->shape;
  if (s.empty() || dim + 1 == s.size()) return out.softmax(x, n.result());
  std::vector<int64_t> swap;
  for (size_t d = 0; d < s.size(); ++d) swap.push_back(static_cast<int64_t>(d));
  std::swap(swap[dim], swap.back());
  Shape t = s;
  std::swap(t[dim], t.back());
  const ir::Value *a = out.temporary({DType::f32, t}), *b = out.temporary({DType::f32, t});
  EW_TRY(out.static_transpose(x, a, swap));
  EW_TRY(out.softmax(a, b));
  return out.static_transpose(b, n.result(), swap);
}

OpDef definition(std::string schema, Kind kind, std::string stock = "") {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = rule;
  d.eval = [kind](const Call& c, size_t) { return eval(kind, c); };
  d.whole = [kind](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
    return whole(kind, c, in, out);
  };
  d.stock = std::move(stock);
  d.agreement = Agreement::kApproximate;
  if (kind == Kind::kSoftmax) d.lower = lower;
  return d;
}

// x.softmax(dim, dtype) = _softmax(x.to(dtype), dim)
Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b, const char* op) {
  const DType t = n.result()->tensor()->dtype;
  ir::Value* x = n.arg("self").value();
  if (x->tensor()->dtype != t) x = b("aten.to.dtype", {x, t});
  return b.done({b(op, {x, n.arg("dim"), false})});
}

}  // namespace

std::vector<OpDef> define_softmax() {
  OpDef softmax =
      definition("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Kind::kSoftmax);
  softmax.decompose = [](const ir::Node& n, Builder& b) { return decompose(n, b, "aten._softmax"); };
  OpDef log_softmax =
      definition("aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Kind::kLog);
  log_softmax.decompose = [](const ir::Node& n, Builder& b) { return decompose(n, b, "aten._log_softmax"); };
  OpDef safe = definition("aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", Kind::kSafe);
  // Rows that are -inf throughout give zeros.
  safe.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const DType t = n.result()->tensor()->dtype;
    ir::Value* x = n.arg("self").value();
    if (x->tensor()->dtype != t) x = b("aten.to.dtype", {x, t});
    ir::Value* masked = b("aten.all.dim", {b("aten.eq.Scalar", {x, -INFINITY}), n.arg("dim"), true});
    return b.done({b("aten.masked_fill.Scalar", {b("aten._softmax", {x, n.arg("dim"), false}), masked, 0})});
  };
  return {softmax, log_softmax, safe,
          definition("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", Kind::kSoftmax,
                     "aten::_softmax.out"),
          definition("aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", Kind::kLog,
                     "aten::_log_softmax.out")};
}
}  // namespace edgewright::ops
