// src/ops/group_norm.cc - aten.group_norm, native_group_norm, instance_norm: channels in groups, each group of each image
// normalized by its own statistics.
#include "ops/form.h"
#include "ops/row_norms.h"

namespace edgewright::ops {
namespace {

enum class Form : uint8_t { kGroup, kNative, kInstance };

int64_t groups_of(Form f, const Call& c) {
  switch (f) {
    case Form::kGroup: return c.i("num_groups");
    case Form::kNative: return c.i("group");
    case Form::kInstance: return c.type(0).shape[1].maybe().value_or(0);
  }
  return 1;
}

Result<Types> rule(const Form& f, const Call& c) {
  const TensorType& x = c.tensor("input");
  if (x.rank() < 2) c.error("[group_norm.1] input needs a batch and a channel dim");
  if (!is_float(x.dtype)) c.error(fmt::format("[group_norm.1] input is {}", name(x.dtype)));
  if (c.failed()) return Types{};
  if (!x.shape[1].is_constant()) c.error("[group_norm.2] the number of channels is known only at run time");
  const int64_t channels = x.shape[1].maybe().value_or(1), groups = groups_of(f, c);
  if (groups < 1 || channels % groups != 0)
    c.error(fmt::format("[group_norm.2] {} channels in {} groups", channels, groups));
  if (f == Form::kInstance && !c.flag("use_input_stats")) {
    if (!c.has("running_mean") || !c.has("running_var")) c.error("[group_norm.3] no statistics are given");
    for (const char* p : {"running_mean", "running_var"})
      if (c.operand(p) >= 0 && (c.tensor(p).rank() != 1 || differ(c.tensor(p).shape[0], x.shape[1])))
        c.error(fmt::format("[group_norm.3] {} has the wrong size", p));
  }
  for (const char* p : {"weight", "bias"})
    if (c.operand(p) >= 0 &&
        (c.tensor(p).rank() != 1 || differ(c.tensor(p).shape[0], x.shape[1]) || !is_float(c.tensor(p).dtype)))
      c.error(fmt::format("[group_norm.4] {} must have one element per channel", p));
  Types t{x};
  if (f == Form::kNative) {
    const bool mixed = c.has("weight") && c.tensor("weight").dtype == DType::f32;
    const TensorType s{mixed ? DType::f32 : x.dtype, {x.shape[0], groups}};
    t.push_back(s);
    t.push_back(s);
  }
  return t;
}

Result<Point> eval(const Form& f, const Call& c, size_t r) {
  const std::vector<int64_t> sizes = ir::static_sizes(c.type(0).shape);
  const int64_t groups = groups_of(f, c), per_group = groups > 0 ? sizes[1] / groups : 0;
  const int w = c.operand("weight"), b = c.operand("bias");
  const bool given = f == Form::kInstance && !c.flag("use_input_stats");
  const int mean = given ? c.operand("running_mean") : -1, var = given ? c.operand("running_var") : -1;
  const double eps = c.f("eps");
  return float_point([=](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    const int64_t ch = r == 0 ? at[1] : 0;
    const Index one(&ch, 1);
    R m, scale;
    if (given) {
      m = in.f(mean, one);
      scale = num::rsqrt(in.f(var, one) + R(eps));
    } else {
      const int64_t g = r == 0 ? ch / per_group : at[1];
      std::vector<int64_t> inner(sizes.begin() + 1, sizes.end()), k(sizes.size() - 1, 0);
      inner[0] = per_group;
      IndexBuffer index{};
      index[0] = at[0];
      std::vector<R> row;
      if (product(inner) > 0) do {
          std::copy(k.begin(), k.end(), index.begin() + 1);
          index[1] += g * per_group;
          row.push_back(in.f(0, Index(index.data(), sizes.size())));
        } while (next_index(k, inner));
      std::tie(m, scale) = row_statistics(std::span<const R>(row), eps, true);
    }
    if (r == 1) return m;
    if (r == 2) return scale;
    R y = (in.f(0, at) - m) * scale;
    if (w >= 0) y = y * in.f(w, one);
    return b >= 0 ? y + in.f(b, one) : y;
  });
}

Result<void> whole(const Form& f, const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const auto channels = [&](const char* p) {
    const int k = c.operand(p);
    return k < 0 ? std::vector<double>() : to_doubles(in[static_cast<size_t>(k)]);
  };
  std::vector<double> x = to_doubles(in[0]);
  const auto& sizes = in[0].sizes;
  const std::vector<double> w = channels("weight"), b = channels("bias");
  std::vector<double> mean, var;
  if (f == Form::kInstance && !c.flag("use_input_stats"))
    mean = channels("running_mean"), var = channels("running_var");
  const double eps = c.f("eps");
  const int64_t groups = groups_of(f, c), per_group = groups > 0 ? sizes[1] / groups : 0,
                inner = product(std::span(sizes).subspan(2));
  std::vector<double> means, scales;
  double* p = x.data();
  for (int64_t row = 0; row < sizes[0] * groups; ++row) {
    auto [m, scale] = row_statistics(std::span<const double>(p, static_cast<size_t>(per_group * inner)), eps, true);
    means.push_back(m);
    scales.push_back(scale);
    for (int64_t k = 0; k < per_group; ++k) {
      const auto ch = static_cast<size_t>(row % groups * per_group + k);
      if (!mean.empty()) m = mean[ch], scale = 1 / std::sqrt(var[ch] + eps);
      for (int64_t i = 0; i < inner; ++i, ++p) {
        *p = (*p - m) * scale;
        if (!w.empty()) *p *= w[ch];
        if (!b.empty()) *p += b[ch];
      }
    }
  }
  assign(out[0], x);
  if (f == Form::kNative) {
    assign(out[1], means);
    assign(out[2], scales);
  }
  return {};
}

// Rows of a [n, groups, rest] view normalized, then scaled per channel.
Result<std::vector<ir::Value*>> decompose(const Form& f, const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  ir::Value* x = n.arg("input").value();
  const Shape& s = x->tensor()->shape;
  if (f == Form::kInstance && !c.flag("use_input_stats"))
    return b.done({b("aten.batch_norm", {x, n.arg("weight"), n.arg("bias"), n.arg("running_mean"), n.arg("running_var"),
                                         false, n.arg("momentum"), n.arg("eps"), false})});
  int64_t count = 1;
  for (size_t d = 1; d < s.size(); ++d) {
    if (!s[d].is_constant()) return std::vector<ir::Value*>{};
    count *= s[d].value();
  }
  const int64_t groups = groups_of(f, c);
  if (c.failed() || count == 0 || (!s[0].is_constant() && count == 0) || s[0] == Dim(0))
    return std::vector<ir::Value*>{};
  const int64_t rest = count / groups;
  const auto norm =
      b.multi("aten.native_layer_norm",
              {b("aten.view", {x, ir::Arg::ints({-1, groups, rest})}), ir::Arg::ints({rest}), {}, {}, n.arg("eps")});
  if (b.failed()) return b.done({});
  std::vector<int64_t> sizes{-1};
  for (size_t d = 1; d < s.size(); ++d) sizes.push_back(s[d].value());
  ir::Value* y = b("aten.view", {norm[0], ir::Arg::ints(sizes)});
  std::vector<int64_t> spread(s.size() - 1, 1);
  spread[0] = -1;
  const auto per_channel = [&](ir::Value* v) {
    return spread.size() == 1 ? v : b("aten.view", {v, ir::Arg::ints(spread)});
  };
  if (ir::Value* w = n.arg("weight").value()) y = b("aten.mul.Tensor", {y, per_channel(w)});
  if (ir::Value* bias = n.arg("bias").value()) y = b("aten.add.Tensor", {y, per_channel(bias)});
  if (b.failed()) return b.done({});
  if (y->tensor()->dtype != x->tensor()->dtype) y = b("aten.to.dtype", {y, x->tensor()->dtype});
  std::vector<ir::Value*> out{y};
  for (size_t r = 1; r < n.num_results(); ++r) {
    ir::Value* v = b("aten.view", {norm[r], ir::Arg::ints({-1, groups})});
    if (!b.failed() && v->tensor()->dtype != n.result(r)->tensor()->dtype)
      v = b("aten.to.dtype", {v, n.result(r)->tensor()->dtype});
    out.push_back(v);
  }
  return b.done(out);
}

OpDef definition(std::string schema, Form f) {
  return formed<Form>(std::move(schema), f, {rule, eval, whole, decompose}, Agreement::kReassociated);
}

}  // namespace

std::vector<OpDef> define_group_norm() {
  return {definition("aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
                     "eps=1.0000000000000001e-05, "
                     "bool cudnn_enabled=True) -> Tensor",
                     Form::kGroup),
          definition("aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt "
                     "HxW, int group, float eps) "
                     "-> (Tensor, Tensor, Tensor)",
                     Form::kNative),
          definition("aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
                     "running_var, bool use_input_stats, "
                     "float momentum, float eps, bool cudnn_enabled) -> Tensor",
                     Form::kInstance)};
}
}  // namespace edgewright::ops
