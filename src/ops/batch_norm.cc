// src/ops/batch_norm.cc - aten.batch_norm and its native forms with given statistics (inference):
// y = (x - mean) / sqrt(var + eps) * weight + bias, per channel (dim 1). Training forms, which update statistics, are refused;
// the forms without statistics (as instance norm uses them) take those of the batch.
#include "ops/dense.h"
#include "ops/form.h"

namespace edgewright::ops {
namespace {

// What differs between the overloads.
struct Form {
  size_t results;
  const char* eps;
  bool of_batch;  // statistics of the batch itself
};

Result<Types> rule(const Form& f, const Call& c) {
  const TensorType& x = c.tensor("input");
  if (x.rank() < 2) c.error("[batch_norm.1] input needs a batch and a channel dim");
  if (!is_float(x.dtype)) c.error(fmt::format("[batch_norm.2] input is {}", name(x.dtype)));
  if (c.failed()) return Types{};
  if (!f.of_batch && c.op().schema.index_of("training") >= 0 && c.flag("training"))
    c.error("[batch_norm.3] training mode; export the model in eval mode");
  const auto check = [&](const char* param, bool required) {
    if (c.op().schema.index_of(param) < 0) return;
    if (!c.has(param)) {
      if (required) c.error(fmt::format("[batch_norm.4] {} is None", param));
      return;
    }
    const TensorType& t = c.tensor(param);
    if (t.rank() != 1 || differ(t.shape[0], x.shape[1]))
      c.error(fmt::format("[batch_norm.5] {} must have one element per channel", param));
    else if (!is_float(t.dtype))
      c.error(fmt::format("[batch_norm.5] {} is {}", param, name(t.dtype)));
  };
  check("weight", false);
  check("bias", false);
  check("running_mean", !f.of_batch);
  check("running_var", !f.of_batch);
  Types t{x};
  // Saved statistics: none at inference, except for a batch's own.
  for (size_t r = 1; r < f.results; ++r)
    t.push_back(r == 3 ? TensorType{DType::u8, {0}} : TensorType{x.dtype, {f.of_batch ? x.shape[1] : Dim(0)}});
  return t;
}

// Mean or variance of channel `ch` of the batch.
template <class R, class I>
std::pair<R, R> batch_statistics(const I& in, const Shape& s, int64_t ch) {
  IndexBuffer at{};
  std::vector<int64_t> sizes = ir::static_sizes(s);
  sizes[1] = 1;
  std::vector<int64_t> k(sizes.size(), 0);
  std::vector<R> all;
  if (product(sizes) > 0) do {
      std::copy(k.begin(), k.end(), at.begin());
      at[1] = ch;
      all.push_back(in.f(0, Index(at.data(), sizes.size())));
    } while (next_index(k, sizes));
  Sum<R> sum, squares;
  for (const R& v : all) sum.add(v);
  const R n(static_cast<double>(all.size())), mean = sum.get() / n;
  for (const R& v : all) squares.add((v - mean) * (v - mean));
  return {mean, squares.get() / n};
}

Result<Point> eval(const Form& f, const Call& c, size_t r) {
  const int w = c.operand("weight"), b = c.operand("bias");
  const int mean = f.of_batch ? -1 : c.operand("running_mean"), var = f.of_batch ? -1 : c.operand("running_var");
  const double eps = c.f(f.eps);
  const Shape shape = c.type(0).shape;
  if (r == 3) return int_point([](const In&, Index) { return 0; });
  return float_point([=](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    const int64_t ch = r == 0 ? at[1] : at[0];
    const Index one(&ch, 1);
    R m, v;
    if (mean < 0)
      std::tie(m, v) = batch_statistics<R>(in, shape, ch);
    else
      m = in.f(mean, one), v = in.f(var, one);
    if (r == 1) return m;
    const R inverse = num::rsqrt(v + R(eps));
    if (r == 2) return inverse;
    // The difference cancels where x * scale - mean * scale would not: its error bound is what any order may have.
    const R scale = w >= 0 ? inverse * in.f(w, one) : inverse;
    const R y = in.f(0, at) * scale - m * scale;
    return b >= 0 ? y + in.f(b, one) : y;
  });
}

Result<void> whole(const Form& f, const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const double eps = c.f(f.eps);
  const auto channels = [&](const char* param) {
    const int k = c.operand(param);
    return k < 0 ? std::vector<double>() : to_doubles(in[static_cast<size_t>(k)]);
  };
  std::vector<double> x = to_doubles(in[0]);
  const auto& sizes = in[0].sizes;
  const int64_t n = sizes[0], ch = sizes[1], inner = product(std::span(sizes).subspan(2));
  std::vector<double> w = channels("weight"), b = channels("bias"), mean, var;
  if (f.of_batch) {
    mean.assign(static_cast<size_t>(ch), 0);
    var = mean;
    const double count = static_cast<double>(n * inner);
    for (int64_t k = 0; k < ch; ++k) {
      double sum = 0, squares = 0;
      const auto each = [&](auto g) {
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < inner; ++j) g(x[static_cast<size_t>((i * ch + k) * inner + j)]);
      };
      each([&](double v) { sum += v; });
      each([&, m = sum / count](double v) { squares += (v - m) * (v - m); });
      mean[static_cast<size_t>(k)] = sum / count;
      var[static_cast<size_t>(k)] = squares / count;
    }
  } else {
    mean = channels("running_mean");
    var = channels("running_var");
  }
  std::vector<double> inverse(static_cast<size_t>(ch));
  for (size_t k = 0; k < inverse.size(); ++k) inverse[k] = 1 / std::sqrt(var[k] + eps);
  size_t at = 0;
  for (int64_t i = 0; i < n; ++i)
    for (size_t k = 0; k < inverse.size(); ++k) {
      const double scale = w.empty() ? inverse[k] : inverse[k] * w[k], shift = b.empty() ? 0 : b[k], m = mean[k];
      for (int64_t j = 0; j < inner; ++j, ++at) x[at] = (x[at] - m) * scale + shift;
    }
  assign(out[0], x);
  if (f.of_batch && out.size() > 2) {
    assign(out[1], mean);
    assign(out[2], inverse);
  }
  return {};
}

ir::Value* empty(Builder& b, DType t) { return b.constant(ir::Tensor::empty(t, {0}), "empty"); }

// By the batch's own statistics. The mean is taken off twice, as in ops/trailing.h.
Result<std::vector<ir::Value*>> decompose_of_batch(const Form& f, const ir::Node& n, Builder& b) {
  ir::Value* x = n.arg("input").value();
  const size_t rank = x->tensor()->rank();
  std::vector<int64_t> axes{0}, channels(rank, 1);
  for (size_t d = 2; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  channels[1] = -1;
  const auto mean_of = [&](ir::Value* v) { return b("aten.mean.dim", {v, ir::Arg::ints(axes), true}); };
  const auto row = [&](ir::Value* v) { return b("aten.view", {v, ir::Arg::ints({-1})}); };
  ir::Value* mean = mean_of(x);
  ir::Value* rough = b("aten.sub.Tensor", {x, mean});
  ir::Value* deviation = b("aten.sub.Tensor", {rough, mean_of(rough)});
  ir::Value* var = mean_of(b("aten.mul.Tensor", {deviation, deviation}));
  ir::Value* inverse = b("aten.rsqrt", {b("aten.add.Scalar", {var, n.arg(f.eps)})});
  ir::Value* y = b("aten.mul.Tensor", {deviation, inverse});
  for (const char* param : {"weight", "bias"})
    if (ir::Value* v = n.arg(param).value())
      y = b(param[0] == 'w' ? "aten.mul.Tensor" : "aten.add.Tensor", {y, b("aten.view", {v, ir::Arg::ints(channels)})});
  if (b.failed()) return b.done({});
  if (*y->tensor() != *n.result()->tensor()) y = b("aten.to.dtype", {y, n.result()->tensor()->dtype});
  std::vector<ir::Value*> out{y, row(mean), row(inverse)};
  for (size_t r = 1; r < f.results && !b.failed(); ++r)
    if (*out[r]->tensor() != *n.result(r)->tensor()) return std::vector<ir::Value*>{};  // statistics of another dtype
  return b.done(out);
}

// x * scale + shift with both folded per channel: two nodes once the constants are folded.
Result<std::vector<ir::Value*>> decompose(const Form& f, const ir::Node& n, Builder& b) {
  if (f.of_batch) return decompose_of_batch(f, n, b);
  ir::Value *x = n.arg("input").value(), *w = n.arg("weight").value(), *bias = n.arg("bias").value(),
            *mean = n.arg("running_mean").value();
  ir::Value* scale = b("aten.rsqrt", {b("aten.add.Scalar", {n.arg("running_var"), n.arg(f.eps)})});
  if (w) scale = b("aten.mul.Tensor", {scale, w});
  ir::Value* shift = b("aten.mul.Tensor", {mean, scale});
  shift = bias ? b("aten.sub.Tensor", {bias, shift}) : b("aten.neg", {shift});
  const auto spread = [&](ir::Value* v) {  // [c] -> [c, 1, ...]
    std::vector<int64_t> sizes(x->tensor()->rank() - 1, 1);
    sizes[0] = -1;
    return sizes.size() == 1 ? v : b("aten.view", {v, ir::Arg::ints(sizes)});
  };
  std::vector<ir::Value*> out{b("aten.add.Tensor", {b("aten.mul.Tensor", {x, spread(scale)}), spread(shift)})};
  if (b.failed()) return b.done(out);
  if (*out[0]->tensor() != *n.result()->tensor()) out[0] = b("aten.to.dtype", {out[0], n.result()->tensor()->dtype});
  for (size_t r = 1; r < f.results; ++r) out.push_back(empty(b, n.result(r)->tensor()->dtype));
  return b.done(out);
}

OpDef definition(std::string schema, Form f) {
  return formed<Form>(std::move(schema), f, {rule, eval, whole, decompose}, Agreement::kReassociated);
}

}  // namespace

std::vector<OpDef> define_batch_norm() {
  OpDef composite = definition(
      "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool "
      "training, "
      "float momentum, float eps, bool cudnn_enabled) -> Tensor",
      {1, "eps", false});
  composite.decompose = [](const ir::Node& n, Builder& b) {
    return b.done({b("aten._native_batch_norm_legit_no_training",
                     {n.arg("input"), n.arg("weight"), n.arg("bias"), n.arg("running_mean"), n.arg("running_var"),
                      n.arg("momentum"), n.arg("eps")})});
  };
  OpDef inference = definition(
      "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
      "Tensor running_var, "
      "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
      {3, "eps", false});
  inference.stock = "aten::_native_batch_norm_legit_no_training.out";
  return {composite, inference,
          definition("aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool "
                     "training, float momentum, float eps) "
                     "-> (Tensor, Tensor, Tensor)",
                     {3, "eps", true}),
          definition("aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
                     "Tensor? running_var, bool training, "
                     "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
                     {3, "eps", false}),
          definition("aten::cudnn_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? "
                     "running_var, bool training, "
                     "float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor, Tensor)",
                     {4, "epsilon", false})};
}
}  // namespace edgewright::ops
