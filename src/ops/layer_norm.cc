// src/ops/layer_norm.cc - aten.layer_norm, native_layer_norm, rms_norm, _fused_rms_norm: each row of the trailing dims normalized by its own statistics.
#include "ops/form.h"
#include "ops/row_norms.h"

namespace edgewright::ops {
namespace {

struct Form {
  bool centered;   // layer_norm; rms_norm only scales
  size_t results;  // 3: with mean and 1/std; 2: with 1/rms
};

double eps_of(const Call& c) {
  if (c.has("eps")) return c.f("eps");
  switch (c.type(0).dtype) {  // rms_norm's default: the dtype's epsilon
    case DType::f64: return 0x1p-52;
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    default: return 0x1p-23;
  }
}
int optional_operand(const Call& c, const char* param) {
  return c.op().schema.index_of(param) >= 0 ? c.operand(param) : -1;
}

Result<Types> rule(const Form& f, const Call& c) {
  const TensorType& x = c.tensor("input");
  const Shape normalized = c.dims("normalized_shape");
  if (!is_float(x.dtype)) c.error(fmt::format("[layer_norm.1] input is {}", name(x.dtype)));
  if (normalized.empty() || normalized.size() > x.rank())
    c.error("[layer_norm.2] normalized_shape has no dims or more than the input");
  if (c.failed()) return Types{};
  const size_t first = x.rank() - normalized.size();
  for (size_t d = 0; d < normalized.size(); ++d)
    if (differ(normalized[d], x.shape[first + d]))
      c.error("[layer_norm.2] normalized_shape is not the input's trailing shape");
  for (const char* param : {"weight", "bias"}) {
    const int k = optional_operand(c, param);
    if (k < 0) continue;
    const TensorType& t = c.type(k);
    if (!is_float(t.dtype)) c.error(fmt::format("[layer_norm.3] {} is {}", param, name(t.dtype)));
    bool same = t.rank() == normalized.size();
    for (size_t d = 0; same && d < t.rank(); ++d) same = !differ(t.shape[d], normalized[d]);
    if (!same) c.error(fmt::format("[layer_norm.3] {} has not the normalized shape", param));
  }
  Types out{x};
  TensorType statistics = x;
  // CPU kernels keep the statistics of half floats with float parameters in float.
  const int w = optional_operand(c, "weight");
  if (w >= 0 && c.type(w).dtype == DType::f32) statistics.dtype = DType::f32;
  if (!f.centered && x.dtype != DType::f64) statistics.dtype = DType::f32;
  for (size_t d = first; d < x.rank(); ++d) statistics.shape[d] = 1;
  for (size_t r = 1; r < f.results; ++r) out.push_back(statistics);
  return out;
}

Result<Point> eval(const Form& f, const Call& c, size_t r) {
  const Shape& s = c.type(0).shape;
  const size_t rows = s.size() - c.dims("normalized_shape").size();
  const int w = optional_operand(c, "weight"), b = optional_operand(c, "bias");
  const double eps = eps_of(c);
  const std::vector<int64_t> inner = ir::static_sizes(Shape(s.begin() + static_cast<ptrdiff_t>(rows), s.end()));
  return float_point([=](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    IndexBuffer index{};
    std::copy(at.begin(), at.begin() + static_cast<ptrdiff_t>(rows), index.begin());
    std::vector<R> row;
    std::vector<int64_t> k(inner.size(), 0);
    if (product(inner) > 0) do {
        std::copy(k.begin(), k.end(), index.begin() + static_cast<ptrdiff_t>(rows));
        row.push_back(in.f(0, Index(index.data(), at.size())));
      } while (next_index(k, inner));
    const auto [mean, scale] = row_statistics(std::span<const R>(row), eps, f.centered);
    if (r == 1) return f.centered ? mean : scale;
    if (r == 2) return scale;
    const Index param = at.subspan(rows);
    const R x = in.f(0, at);
    R y = (f.centered ? x - mean : x) * scale;
    if (w >= 0) y = y * in.f(w, param);
    return b >= 0 ? y + in.f(b, param) : y;
  });
}

Result<void> whole(const Form& f, const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const int w = optional_operand(c, "weight"), b = optional_operand(c, "bias");
  const double eps = eps_of(c);
  std::vector<double> x = to_doubles(in[0]);
  const std::vector<double> weight = w < 0 ? std::vector<double>() : to_doubles(in[static_cast<size_t>(w)]);
  const std::vector<double> bias = b < 0 ? std::vector<double>() : to_doubles(in[static_cast<size_t>(b)]);
  const size_t n = static_cast<size_t>(product(std::span(in[0].sizes).last(c.dims("normalized_shape").size())));
  const size_t count = n == 0 ? (out.size() > 1 ? static_cast<size_t>(out[1].numel()) : 0) : x.size() / n;
  std::vector<double> means, scales;
  for (size_t i = 0; i < count; ++i) {
    double* row = x.data() + i * n;
    const auto [mean, scale] = row_statistics(std::span<const double>(row, n), eps, f.centered);
    means.push_back(mean);
    scales.push_back(scale);
    for (size_t k = 0; k < n; ++k) row[k] = (row[k] - mean) * scale;
    if (!weight.empty())
      for (size_t k = 0; k < n; ++k) row[k] *= weight[k];
    if (!bias.empty())
      for (size_t k = 0; k < n; ++k) row[k] += bias[k];
  }
  assign(out[0], x);
  if (f.results == 3) assign(out[1], means);
  if (f.results > 1) assign(out[f.results - 1], scales);
  return {};
}

Result<void> lower(const Form& f, const ir::Node& n, XnnEmitter& out) {
  const Call c = Call::of(n);
  for (size_t r = 1; r < f.results; ++r)
    if (!is_unused(n, r)) return fail(Code::kKeptOnHost, "the statistics are used, too");
  if (c.type(0).dtype != DType::f32) return fail(Code::kKeptOnHost, "input is {}", name(c.type(0).dtype));
  const int64_t rank = c.rank("input");
  std::vector<int64_t> axes;
  for (auto d = rank - static_cast<int64_t>(c.dims("normalized_shape").size()); d < rank; ++d) axes.push_back(d);
  EW_ASSIGN(const Trailing t, trailing_of(c.type(0).shape, axes));
  const double eps = eps_of(c);
  if (c.failed()) return fail(Code::kKeptOnHost, "{}", *c.failed());
  const ir::Value* bias = f.centered ? n.arg("bias").value() : nullptr;
  return lower_row_norm(out, n.arg("input").value(), n.arg("weight").value(), bias, n.result(), t, eps, f.centered);
}

OpDef definition(std::string schema, Form f, std::string stock = "") {
  OpDef d = formed<Form>(std::move(schema), f, {rule, eval, whole}, Agreement::kReassociated);
  d.lower = [f](const ir::Node& n, XnnEmitter& out) { return lower(f, n, out); };
  d.stock = std::move(stock);
  return d;
}

// rms_norm in simple ops, in f32 where the input is a half float (as PyTorch computes it).
Result<std::vector<ir::Value*>> decompose_rms(const ir::Node& n, Builder& b, size_t results) {
  const Call c = Call::of(n);
  const double eps = eps_of(c);
  const int64_t rank = c.rank("input");
  std::vector<int64_t> axes;
  for (auto d = rank - static_cast<int64_t>(c.dims("normalized_shape").size()); d < rank; ++d) axes.push_back(d);
  if (c.failed()) return fail(Code::kInternal, "{}: {}", n.name(), *c.failed());
  ir::Value *x = n.arg("input").value(), *w = n.arg("weight").value();
  const DType own = x->tensor()->dtype, computed = own == DType::f64 ? own : DType::f32;
  if (own != computed) x = b("aten.to.dtype", {x, computed});
  ir::Value* scale =
      b("aten.rsqrt",
        {b("aten.add.Scalar", {b("aten.mean.dim", {b("aten.mul.Tensor", {x, x}), ir::Arg::ints(axes), true}), eps})});
  ir::Value* y = b("aten.mul.Tensor", {x, scale});
  if (w) y = b("aten.mul.Tensor", {y, w});
  if (b.failed()) return b.done({});
  if (y->tensor()->dtype != own) y = b("aten.to.dtype", {y, own});
  return b.done(results == 2 ? std::vector<ir::Value*>{y, scale} : std::vector<ir::Value*>{y});
}

}  // namespace

std::vector<OpDef> define_layer_norm() {
  OpDef layer = definition(
      "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
      "eps=1.0000000000000001e-05, "
      "bool cudnn_enable=True) -> Tensor",
      {true, 1});
  layer.decompose = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten.native_layer_norm",
                     {n.arg("input"), n.arg("normalized_shape"), n.arg("weight"), n.arg("bias"), n.arg("eps")})});
  };
  OpDef rms = definition(
      "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
      {false, 1});
  rms.decompose = [](const ir::Node& n, Builder& b) { return decompose_rms(n, b, 1); };
  OpDef fused = definition(
      "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
      {false, 2});
  fused.decompose = [](const ir::Node& n, Builder& b) { return decompose_rms(n, b, 2); };
  return {layer,
          definition("aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, "
                     "float eps) -> (Tensor, Tensor, Tensor)",
                     {true, 3}, "aten::native_layer_norm.out"),
          rms, fused};
}
}  // namespace edgewright::ops
