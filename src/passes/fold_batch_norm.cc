// src/passes/fold_batch_norm.cc - fold-batch-norm:
//   batch_norm(convolution(x, w, b))  -> convolution(x, w * s, (b - mean) * s + bias)   s = weight / sqrt(var + eps), per output channel
//   batch_norm(linear(x, w, b))       -> linear(x, w * s, ...)                          for 2-dim x only (channels are dim 1)
//   batch_norm(x)                     -> x * s + (bias - mean * s)                      where no convolution stands before it
// Real-number identities: both are linear in x. The convolution must have no other user, or its own values would change.
#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

std::vector<double> doubles(const Value* v, size_t n, double otherwise) {
  std::vector<double> out(n, otherwise);
  if (v) {
    const ir::Tensor t = v->data->contiguous();
    for (size_t i = 0; i < n; ++i) out[i] = ir::load_f(t.dtype, t.data, static_cast<int64_t>(i));
  }
  return out;
}

ir::Tensor f32_tensor(const std::vector<double>& data, std::vector<int64_t> sizes) {
  ir::Tensor t = ir::Tensor::empty(DType::f32, std::move(sizes));
  for (size_t i = 0; i < data.size(); ++i) ir::store_f(DType::f32, t.mutable_data(), static_cast<int64_t>(i), data[i]);
  return t;
}

// w scaled along its output channels: dim 0, or for a transposed convolution dim 1 within each group.
ir::Tensor scaled(const ir::Tensor& w, const std::vector<double>& s, bool transposed, int64_t groups) {
  const ir::Tensor c = w.contiguous();
  ir::Tensor out = ir::Tensor::empty(DType::f32, c.sizes);
  const auto* from = reinterpret_cast<const float*>(c.data);
  auto* to = reinterpret_cast<float*>(out.mutable_data());
  const int64_t d0 = c.sizes[0], d1 = transposed ? c.sizes[1] : 1, inner = c.numel() / std::max<int64_t>(1, d0 * d1);
  constexpr int64_t kGrain = 1 << 18;  // elements
  parallel_for(d0, kGrain / std::max<int64_t>(1, d1 * inner), [&](int64_t begin, int64_t end) {
    for (int64_t a = begin; a < end; ++a)
      for (int64_t b = 0; b < d1; ++b) {
        const int64_t channel = transposed ? (a / (d0 / groups)) * d1 + b : a;
        const double f = s[static_cast<size_t>(channel)];
        const int64_t at = (a * d1 + b) * inner;
        for (int64_t i = at; i < at + inner; ++i) {
          float v;
          std::memcpy(&v, from + i, sizeof v);  // mapped weights need not be aligned
          to[i] = static_cast<float>(v * f);
        }
      }
  });
  return out;
}

Match rewrite(Node& n, Rewriter& rw) {
  Value* x = n.arg("input").value();
  const ir::Shape& shape = x->tensor()->shape;
  if (shape.size() < 2 || !shape[1].is_constant()) return no_match("the channel dim is not static");
  const auto channels = static_cast<size_t>(shape[1].value());
  Value *weight = n.arg("weight").value(), *bias = n.arg("bias").value(), *mean = n.arg("running_mean").value(),
        *var = n.arg("running_var").value();
  if (!mean || !var) return no_match("no running statistics");
  for (const Value* v : {weight, bias, mean, var}) {
    if (!v) continue;
    if (!v->is_constant()) return no_match("a parameter of it is not a constant");
    if (!is_f32(v)) return no_match("a parameter of it is not f32");
  }
  if (!is_f32(x)) return no_match("its input is not f32");
  for (size_t i = 1; i < n.num_results(); ++i)
    if (!n.result(i)->users.empty() || n.graph().is_output(n.result(i)))
      return no_match("its saved statistics are used");
  const ir::Arg eps = n.arg("eps");
  if (!eps.f() && !eps.i()) return no_match("eps is not a constant");
  const double e = eps.f() ? *eps.f() : static_cast<double>(*eps.i());
  auto s = doubles(weight, channels, 1), offset = doubles(bias, channels, 0);
  const auto m = doubles(mean, channels, 0), v = doubles(var, channels, 1);
  for (size_t i = 0; i < channels; ++i) {
    s[i] /= std::sqrt(v[i] + e);
    if (!std::isfinite(static_cast<float>(s[i]))) return no_match("a channel's scale is not finite");
    offset[i] -= m[i] * s[i];
  }
  const auto results = [&](Value* y) {
    std::vector<Value*> out(n.num_results(), nullptr);
    out[0] = y;
    return rw.replace(std::move(out));
  };

  Node* conv = producer(x, "aten.convolution");
  Node* linear = shape.size() == 2 ? producer(x, "aten.linear") : nullptr;
  if (Node* inner = conv ? conv : linear; inner && only_user(x)) {
    Value *w = inner->arg("weight").value(), *b = inner->arg("bias").value();
    const ir::Arg transposed_arg = conv ? conv->arg("transposed") : ir::Arg(false);
    const ir::Arg groups_arg = conv ? conv->arg("groups") : ir::Arg(1);
    if (w->is_constant() && is_f32(w) && (!b || (b->is_constant() && is_f32(b))) && transposed_arg.b() &&
        groups_arg.i()) {
      rw.matched(inner);
      const auto b0 = doubles(b, channels, 0);
      for (size_t i = 0; i < channels; ++i) offset[i] += b0[i] * s[i];
      Value* w2 = rw.constant(scaled(*w->data, s, *transposed_arg.b(), *groups_arg.i()), w->name + ".folded");
      Value* b2 = rw.constant(f32_tensor(offset, {static_cast<int64_t>(channels)}), w->name + ".folded_bias");
      std::vector<ir::Arg> args = inner->args();
      args.resize(std::max<size_t>(args.size(), 3));
      args[1] = w2;
      args[2] = b2;
      Value* y = rw(inner->name(), std::move(args));
      if (y) y->producer->origin = inner->origin;  // messages speak of the convolution
      return results(y);
    }
  }
  std::vector<int64_t> sizes(shape.size() - 1, 1);
  sizes[0] = static_cast<int64_t>(channels);
  Value* scale = rw.constant(f32_tensor(s, sizes), "batch_norm.scale");
  Value* shift = rw.constant(f32_tensor(offset, sizes), "batch_norm.shift");
  return results(rw("aten.add.Tensor", {rw("aten.mul.Tensor", {x, scale}), shift}));
}

}  // namespace
PassDef define_fold_batch_norm() {
  return {.name = "fold-batch-norm",
          .roots = {"aten._native_batch_norm_legit_no_training"},
          .rewrite = rewrite,
          .agreement = Agreement::kReassociated,
          .summary = "batch_norm(conv(x, w, b)) -> conv(x, w', b'); alone: x * s + t"};
}
}  // namespace edgewright::passes
