#include "ops/xnn_quant.h"

#include <deque>
#include <map>
#include <set>

#include "ops/dense.h"
#include "ops/xnn_support.h"

namespace edgewright::ops {
namespace {

constexpr int64_t kLeast = -128, kMost = 127;

bool is_i8(const ir::Value* v) { return v->tensor() && v->tensor()->dtype == DType::i8; }
bool is_f32(const ir::Value* v) { return v->tensor() && v->tensor()->dtype == DType::f32; }

// "x" -> "x_scale" where the schema has it.
bool has_attribute(const ir::Op& op, const std::string& operand) {
  const int i = op.schema.index_of(operand + "_scale");
  return i >= 0 && op.schema.params[static_cast<size_t>(i)].kind == ir::ParamKind::kFloat;
}

std::optional<Quantization> parameters(const ir::Node& n) {
  const ir::Arg scale = n.arg("scale"), zero_point = n.arg("zero_point");
  if (!(scale.f() || scale.i()) || !zero_point.i()) return std::nullopt;
  return Quantization{scale.f() ? *scale.f() : static_cast<double>(*scale.i()), *zero_point.i()};
}

// What one node says of a value that it reads or makes.
void states(const ir::Node& n, const ir::Value* v, Stated& s) {
  const auto say = [&](const std::optional<Quantization>& q) {
    if (!q) return;
    if (s.quantization && !(*s.quantization == *q)) s.conflict = true;
    s.quantization = q;
  };
  if (v->producer == &n) {
    say(quantizes(n));
    if (form_of(v) == Form::kQuantized) say(attribute_of(n, "y"));
    return;
  }
  say(dequantizes(n));
  if (n.num_results() != 1 || form_of(n.result()) != Form::kQuantized) return;
  for (const ir::Param& p : n.op().schema.params)
    if (p.kind == ir::ParamKind::kTensor && has_attribute(n.op(), p.name) && n.arg(p.name).value() == v)
      say(attribute_of(n, p.name));
}

}  // namespace

bool is_usable(const Quantization& q) {
  return is_usable_scale(q.scale) && q.zero_point >= kLeast && q.zero_point <= kMost;
}

Form form_of(const ir::Value* v) {
  if (!v->producer) return Form::kFloat;
  const std::string& name = v->producer->name();
  return name.starts_with("xnn.q_")                                   ? Form::kQuantized
         : name.starts_with("xnn.qd_") || name.starts_with("xnn.qw_") ? Form::kDynamic
                                                                      : Form::kFloat;
}

bool keeps_quantization(const ir::Node& n) {
  static const std::set<std::string_view> kOps = {"aten.permute",
                                                  "aten.permute_copy",
                                                  "aten.view",
                                                  "aten.view_copy",
                                                  "aten.reshape",
                                                  "aten._unsafe_view",
                                                  "aten.transpose.int",
                                                  "aten.t",
                                                  "aten.slice.Tensor",
                                                  "aten.select.int",
                                                  "aten.cat",
                                                  "aten.squeeze",
                                                  "aten.squeeze.dim",
                                                  "aten.squeeze.dims",
                                                  "aten.unsqueeze",
                                                  "aten.clone",
                                                  "aten.expand",
                                                  "aten.constant_pad_nd",
                                                  "aten.stack",
                                                  "aten.flatten.using_ints",
                                                  "aten.split_with_sizes",
                                                  "aten.split.Tensor",
                                                  "aten.unbind.int",
                                                  "aten.clamp",
                                                  "aten.relu",
                                                  "aten.hardtanh",
                                                  "xnn.max_pool2d"};
  return kOps.contains(n.name());
}

std::optional<Quantization> quantizes(const ir::Node& n) {
  if (!n.is("quantized_decomposed.quantize_per_tensor") || n.num_results() != 1) return std::nullopt;
  return is_i8(n.result()) && is_f32(n.inputs()[0]) ? parameters(n) : std::nullopt;
}
std::optional<Quantization> dequantizes(const ir::Node& n) {
  if (!n.is("quantized_decomposed.dequantize_per_tensor") || n.num_results() != 1) return std::nullopt;
  return is_f32(n.result()) && is_i8(n.inputs()[0]) ? parameters(n) : std::nullopt;
}

namespace {
// Whether a float is computed from a constant that holds NaN or an infinity, a few nodes back.
bool from_nonfinite(const ir::Value* v, int depth) {
  if (!is_f32(v) || depth == 0) return false;
  if (v->is_constant()) {
    const ir::Tensor t = v->data->contiguous();
    const auto* x = reinterpret_cast<const float*>(t.data);
    return !std::all_of(x, x + t.numel(), [](float f) { return std::isfinite(f); });
  }
  if (!v->producer) return false;
  for (const ir::Value* i : v->producer->inputs())
    if (from_nonfinite(i, depth - 1)) return true;
  return false;
}
}  // namespace

Result<void> lower_conversion(const ir::Node& n, XnnEmitter& out) {
  if (!quantizes(n) && !dequantizes(n))
    return fail(Code::kKeptOnHost, "XNNPACK converts between f32 and i8 by a constant scale and zero point");
  if (quantizes(n)) {
    const ir::Arg lo = n.arg("quant_min"), hi = n.arg("quant_max");
    if (!lo.i() || !hi.i() || *lo.i() != kLeast || *hi.i() != kMost)
      return fail(Code::kKeptOnHost, "XNNPACK quantizes to all of i8");
    if (from_nonfinite(n.inputs()[0], 4))
      return fail(Code::kKeptOnHost,
                  "it quantizes what a constant makes NaN or infinite, which XNNPACK does otherwise");
  }
  return out.copy(n.inputs()[0], n.result());
}

Quantization attribute_of(const ir::Node& n, const std::string& operand) {
  const ir::Arg scale = n.arg(operand + "_scale"), zero_point = n.arg(operand + "_zero_point");
  return {scale.f()   ? *scale.f()
          : scale.i() ? static_cast<double>(*scale.i())
                      : 0,
          zero_point.i() ? *zero_point.i() : 0};
}

Stated quantization_of(const ir::Value* v) {
  Stated s;
  std::set<const ir::Value*> seen{v};
  std::deque<const ir::Value*> work{v};
  const auto reach = [&](const ir::Value* x) {
    if (is_i8(x) && seen.insert(x).second) work.push_back(x);
  };
  const auto visit = [&](const ir::Node* n, const ir::Value* x) {
    if (!keeps_quantization(*n)) return states(*n, x, s);
    for (const ir::Value* i : n->inputs()) reach(i);
    for (size_t r = 0; r < n->num_results(); ++r) reach(n->result(r));
  };
  while (!work.empty() && !s.conflict) {
    const ir::Value* x = work.front();
    work.pop_front();
    if (x->producer) visit(x->producer, x);
    for (const ir::Node* u : x->users) visit(u, x);
  }
  return s;
}

// ---- the ops --------------------------------------------------------------------------------------------------------

namespace {

// The float op applied to what the operands stand for: operand numbers are kept, types are f32.
class FloatCall {
 public:
  FloatCall(const Call& c, const OpDef& op, bool unbounded = false) {
    std::vector<ir::Arg> args;
    for (const ir::Param& p : op.schema.params) args.push_back(c.raw(p.name));
    if (unbounded)
      for (size_t i = 0; i < args.size(); ++i) {
        if (op.schema.params[i].name == "min") args[i] = -INFINITY;
        if (op.schema.params[i].name == "max") args[i] = INFINITY;
      }
    std::map<const ir::Value*, TensorType> types;
    for (size_t i = 0; i < c.num_operands(); ++i) {
      TensorType t = c.type(static_cast<int>(i));
      t.dtype = DType::f32;
      types[c.value(static_cast<int>(i))] = std::move(t);
    }
    call_.emplace(Call::with(op, args, [&](const ir::Value* v) {
      const auto it = types.find(v);
      return Call::Known{it == types.end() ? Type(v->type) : Type(it->second), std::nullopt};
    }));
    operands_.resize(call_->num_operands());
    for (const ir::Param& p : op.schema.params) {
      if (p.kind != ir::ParamKind::kTensor) continue;
      const int k = call_->operand(p.name);
      if (k < 0) continue;
      Operand& x = operands_[static_cast<size_t>(k)];
      x.role = p.name == "weight" ? Role::kWeight : p.name == "bias" ? Role::kBias : Role::kActivation;
      x.outer = c.operand(p.name);
      const std::string from = x.role == Role::kBias ? "x" : p.name;
      if (!has_attribute(c.op(), from)) continue;
      x.scale = c.f(from + "_scale");
      if (x.role == Role::kActivation) x.zero_point = static_cast<double>(c.i(from + "_zero_point"));
    }
  }
  const Call& call() const { return *call_; }
  enum class Role : uint8_t { kActivation, kWeight, kBias };
  // Of each operand of the float op: its number in the quantized op; what it is quantized by (a bias: the scale of x alone).
  struct Operand {
    Role role = Role::kActivation;
    int outer = -1;
    double scale = 1, zero_point = 0;
  };
  const Operand& operator[](int operand) const { return operands_[static_cast<size_t>(operand)]; }

 private:
  std::optional<Call> call_;
  std::vector<Operand> operands_;
};
using Role = FloatCall::Role;

// Which dim of the weights counts output channels.
size_t channel_dim(const Call& c) {
  if (c.name().find("depthwise") != std::string::npos) return 3;
  const bool transposed = c.op().schema.index_of("transposed_weight") >= 0 && c.flag("transposed_weight");
  return transposed ? 1 : 0;
}

// The scale that belongs to an element of the weights.
class WeightScale {
 public:
  explicit WeightScale(const Call& c) {
    if (c.op().schema.index_of("weight_scale") < 0) return;
    operand_ = c.operand("weight_scale");
    const TensorType& scale = c.type(operand_);
    const Shape& w = c.tensor("weight").shape;
    channel_ = channel_dim(c);
    for (const Dim& d : scale.shape) sizes_.push_back(d.value());
    if (sizes_.size() == 2 && w.size() == 2) block_ = w[1 - channel_].value() / std::max<int64_t>(sizes_[1], 1);
    coarse_ = scale.dtype == DType::bf16;
  }
  template <class I>
  double of(const I& in, Index at) const {
    IndexBuffer i{};
    if (sizes_[0] > 1) i[0] = at[channel_];
    if (sizes_.size() == 2) i[1] = at[1 - channel_] / block_;
    return num::value(in.f(operand_, Index(i.data(), sizes_.size())));
  }
  template <class I>
  double of_channel(const I& in, int64_t channel) const {
    const int64_t i = sizes_[0] > 1 ? channel : 0;
    return num::value(in.f(operand_, Index(&i, 1)));
  }
  bool coarse() const { return coarse_; }

 private:
  int operand_ = -1;
  size_t channel_ = 0;
  std::vector<int64_t> sizes_;
  int64_t block_ = 1;
  bool coarse_ = false;  // rounded to bf16
};

int64_t requantized(double v, const Quantization& q) {
  const double r = std::nearbyint(v / q.scale) + static_cast<double>(q.zero_point);
  if (!(r > static_cast<double>(kLeast))) return kLeast;  // NaN too, which usable scales never give
  return r < static_cast<double>(kMost) ? static_cast<int64_t>(r) : kMost;
}

// [xnn_quant.1] usable scales and zero points.
Quantization attribute(const Call& c, const std::string& operand) {
  const Quantization q{c.f(operand + "_scale"), c.i(operand + "_zero_point")};
  if (!is_usable(q))
    c.error(fmt::format("[xnn_quant.1] {} has scale {} and zero point {}", operand, q.scale, q.zero_point));
  return q;
}
// [xnn_quant.2] i8 weights with a scale, or one for each output channel (or block of them).
void check_weight(const Call& c, bool blocks) {
  if (c.tensor("weight").dtype != DType::i8)
    c.error(fmt::format("[xnn_quant.2] weight is {}", name(c.tensor("weight").dtype)));
  const TensorType& s = c.tensor("weight_scale");
  const Shape& w = c.tensor("weight").shape;
  const size_t channel = channel_dim(c);
  if (c.failed()) return;
  if (channel >= w.size() || (s.dtype != DType::f32 && !(blocks && s.dtype == DType::bf16)) || s.rank() < 1 ||
      s.rank() > (blocks ? 2 : 1) || !ir::is_static(s.shape) || !ir::is_static(w)) {
    c.error("[xnn_quant.2] weight_scale does not go with the weight");
    return;
  }
  const int64_t n = s.shape[0].value();
  if (n != w[channel].value() && (n != 1 || blocks))
    c.error("[xnn_quant.2] as many scales as output channels are needed");
  if (s.rank() == 2) {
    const int64_t parts = s.shape[1].value();
    if (w.size() != 2 || parts < 1 || w[1 - channel].value() % parts != 0)
      c.error("[xnn_quant.2] the scales do not part the weight evenly");
  }
}

// What the operands of a static op stand for.
class Dequantized final : public In {
 public:
  Dequantized(const In& in, const FloatCall& f, const WeightScale& w) : in_(in), f_(f), w_(w) {}
  double f(int operand, Index at) const override {
    const FloatCall::Operand& x = f_[operand];
    const auto q = static_cast<double>(in_.i(x.outer, at));
    switch (x.role) {
      case Role::kWeight: return q * w_.of(in_, at);
      case Role::kBias: return q * x.scale * w_.of_channel(in_, at[0]);
      case Role::kActivation: break;
    }
    return (q - x.zero_point) * x.scale;
  }
  int64_t i(int operand, Index at) const override { return in_.i(f_[operand].outer, at); }

 private:
  const In& in_;
  const FloatCall& f_;
  const WeightScale& w_;
};

// Everything that an evaluation of one call needs, kept alive by the Point.
struct Static {
  FloatCall f;
  WeightScale weight;
  Quantization y;
  Static(const Call& c, const OpDef& op) : f(c, op), weight(c), y(attribute(c, "y")) {}
};

class TensorsIn final : public In {
 public:
  explicit TensorsIn(std::span<const ir::Tensor> in) : in_(in) {}
  double f(int operand, Index at) const override {
    const ir::Tensor& t = in_[static_cast<size_t>(operand)];
    return ir::load_f(t.dtype, t.data, t.offset_of(at));
  }
  int64_t i(int operand, Index at) const override {
    const ir::Tensor& t = in_[static_cast<size_t>(operand)];
    return ir::load_i(t.dtype, t.data, t.offset_of(at));
  }

 private:
  std::span<const ir::Tensor> in_;
};

// Calls f(row-major place, index) for each element.
template <class F>
void each_index(std::span<const int64_t> sizes, F f) {
  IndexBuffer at{};
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  for (int64_t k = 0; k < n; ++k) {
    f(k, Index(at.data(), sizes.size()));
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++at[d] < sizes[d]) break;
      at[d] = 0;
    }
  }
}

// The operands of the float op as f32 tensors, read through `view`.
std::vector<ir::Tensor> materialized(const FloatCall& f, const In& view, std::span<const ir::Tensor> in) {
  std::vector<ir::Tensor> out;
  for (size_t k = 0; k < f.call().num_operands(); ++k) {
    const ir::Tensor& from = in[static_cast<size_t>(f[static_cast<int>(k)].outer)];
    ir::Tensor t = ir::Tensor::empty(DType::f32, from.sizes);
    each_index(from.sizes, [&](int64_t place, Index at) {
      ir::store_f(DType::f32, t.mutable_data(), place, view.f(static_cast<int>(k), at));
    });
    out.push_back(std::move(t));
  }
  return out;
}

Result<void> float_whole(const OpDef& op, const FloatCall& f, std::span<const ir::Tensor> in, ir::Tensor& y) {
  if (op.whole) {
    EW_TRY(op.whole(f.call(), in, std::span<ir::Tensor>(&y, 1)));
    if (f.call().failed()) return fail(Code::kInternal, "{}: {}", op.name, *f.call().failed());
    return {};
  }
  EW_ASSIGN(const Point p, point(op, f.call(), 0));
  const TensorsIn view(in);
  each_index(y.sizes, [&](int64_t place, Index at) { ir::store_f(y.dtype, y.mutable_data(), place, p.f(view, at)); });
  return {};
}

}  // namespace

namespace {
// The tensor parameters of a float op that are activations.
std::vector<std::string> activations(const ir::Schema& s) {
  std::vector<std::string> out;
  for (const ir::Param& p : s.params)
    if (p.kind == ir::ParamKind::kTensor && p.name != "weight" && p.name != "bias") out.push_back(p.name);
  return out;
}
struct Names {
  std::string target;  // the float op
  std::string params;  // as its schema writes them
  bool has_weight = false;
  ir::Schema schema;
};
Names names(const std::string& float_schema) {
  Names n;
  auto s = ir::parse_schema(float_schema);
  EW_CHECK(s.has_value());
  n.schema = std::move(*s);
  n.target = n.schema.name;
  const size_t open = float_schema.find('('), close = float_schema.rfind(')');
  n.params = float_schema.substr(open + 1, close - open - 1);
  n.has_weight = n.schema.index_of("weight") >= 0;
  return n;
}
}  // namespace

OpDef quantized(const std::string& name, const std::string& float_schema) {
  const Names n = names(float_schema);
  OpDef d;
  std::string attributes;
  for (const std::string& a : activations(n.schema))
    attributes += fmt::format(", float {0}_scale, int {0}_zero_point", a);
  if (n.has_weight) attributes += ", Tensor weight_scale";
  d.schema_text = fmt::format("{}({}{}, float y_scale, int y_zero_point) -> Tensor", name, n.params, attributes);
  const std::string target = n.target;
  const std::vector<std::string> acts = activations(n.schema);
  const bool weighted = n.has_weight;
  d.infer = [=](const Call& c) -> Result<Types> {
    const OpDef* op = find(target);
    for (const std::string& a : acts) {
      if (c.tensor(a).dtype != DType::i8)
        c.error(fmt::format("[xnn_quant.3] {} is {}", a, edgewright::name(c.tensor(a).dtype)));
      attribute(c, a);
    }
    attribute(c, "y");
    if (weighted) {
      check_weight(c, false);
      if (c.op().schema.index_of("bias") >= 0 && c.has("bias") && c.tensor("bias").dtype != DType::i32)
        c.error(fmt::format("[xnn_quant.4] bias is {}", edgewright::name(c.tensor("bias").dtype)));
    }
    if (c.failed()) return Types{};
    const FloatCall f(c, *op);
    EW_ASSIGN(Types types, infer(*op, f.call()));
    std::get<TensorType>(types[0]).dtype = DType::i8;
    return types;
  };
  d.eval = [=](const Call& c, size_t) -> Result<Point> {
    const OpDef* op = find(target);
    const auto s = std::make_shared<const Static>(c, *op);
    EW_ASSIGN(const Point p, point(*op, s->f.call(), 0));
    return int_point([s, p](const In& in, Index at) -> int64_t {
      const Dequantized view(in, s->f, s->weight);
      return requantized(p.f(view, at), s->y);
    });
  };
  d.whole = [=](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const OpDef* op = find(target);
    const Static s(c, *op);
    const TensorsIn raw(in);
    const Dequantized view(raw, s.f, s.weight);
    const std::vector<ir::Tensor> operands = materialized(s.f, view, in);
    ir::Tensor y = ir::Tensor::empty(DType::f32, out[0].sizes);
    EW_TRY(float_whole(*op, s.f, operands, y));
    const auto* from = reinterpret_cast<const float*>(y.data);
    auto* to = reinterpret_cast<int8_t*>(out[0].mutable_data());
    for (int64_t i = 0; i < y.numel(); ++i) to[i] = static_cast<int8_t>(requantized(static_cast<double>(from[i]), s.y));
    return {};
  };
  d.lower = [target](const ir::Node& node, XnnEmitter& out) { return find(target)->lower(node, out); };
  d.agreement = Agreement::kQuantized;
  return d;
}

namespace {

// x as XNNPACK quantizes it on the way: each group of elements with one index before dim `first` by its own range, 0 included.
class Tokens {
 public:
  Tokens(const Shape& x, size_t first) : sizes_(ir::static_sizes(x)), first_(first) {}
  struct Range {
    double lo = 0, hi = 0;
    double scale() const { return lo == hi ? 1 : (hi - lo) / 255; }
  };
  template <class F>
  const Range& of(Index at, F element) const {
    int64_t token = 0;
    for (size_t d = 0; d < first_; ++d) token = token * sizes_[d] + at[d];
    const auto [it, fresh] = ranges_.try_emplace(token);
    if (fresh) {
      IndexBuffer i{};
      for (size_t d = 0; d < first_; ++d) i[d] = at[d];
      const std::span<const int64_t> inner(sizes_.data() + first_, sizes_.size() - first_);
      each_index(inner, [&](int64_t, Index rest) {
        for (size_t d = 0; d < rest.size(); ++d) i[first_ + d] = rest[d];
        const double v = element(Index(i.data(), sizes_.size()));
        it->second.lo = std::min(it->second.lo, v);
        it->second.hi = std::max(it->second.hi, v);
      });
    }
    return it->second;
  }
  // A step no finer than the whole tensor's: of a large one some thousand elements are looked at, and twice their range is taken.
  template <class F>
  double widest(F element) const {
    if (!widest_) {
      Range r;
      std::vector<int64_t> part = sizes_;
      const bool all = product(sizes_) <= kLookedAt;
      for (size_t d = 0; d < part.size() && product(part) > kLookedAt; ++d)
        part[d] = std::max<int64_t>(1, part[d] * kLookedAt / product(part));
      each_index(part, [&](int64_t, Index at) {
        const double v = element(at);
        r.lo = std::min(r.lo, v);
        r.hi = std::max(r.hi, v);
      });
      widest_ = r.scale() * (all ? 1 : 2);
    }
    return *widest_;
  }
  static constexpr int64_t kLookedAt = 1 << 13;

 private:
  std::vector<int64_t> sizes_;
  size_t first_;
  mutable std::map<int64_t, Range> ranges_;
  mutable std::optional<double> widest_;
};

double rounded_to(double x, const Tokens::Range& r) {
  if (!std::isfinite(x) || !std::isfinite(r.lo) || !std::isfinite(r.hi)) return NAN;
  const double s = r.scale();
  const double zero = std::clamp(std::nearbyint(-128 - r.lo / s), -128.0, 127.0);
  return (std::clamp(std::nearbyint(x / s) + zero, -128.0, 127.0) - zero) * s;
}

struct Dynamic {
  FloatCall f, unbounded;
  WeightScale weight;
  Shape x;
  size_t first;
  bool quantizes;  // x; otherwise the weights alone are quantized
  Dynamic(const Call& c, const OpDef& op)
      : f(c, op),
        unbounded(c, op, true),
        weight(c),
        x(c.tensor("x").shape),
        first(op.name == "xnn.fully_connected" ? x.size() - 1 : 1),
        quantizes(!c.name().starts_with("xnn.qw_")) {}
};

// I is In or BoundedIn; bounds of what comes in are not looked at here.
template <class I>
class DynamicIn final : public In {
 public:
  DynamicIn(const I& in, const Dynamic& d, const Tokens& t) : in_(in), d_(d), t_(t) {}
  double f(int operand, Index at) const override {
    const auto [role, k, scale, zero_point] = d_.f[operand];
    if (role == Role::kWeight) return static_cast<double>(in_.i(k, at)) * d_.weight.of(in_, at);
    const double v = num::value(in_.f(k, at));
    if (role == Role::kBias || !d_.quantizes) return v;
    return rounded_to(v, t_.of(at, [&, k = k](Index i) { return num::value(in_.f(k, i)); }));
  }
  int64_t i(int operand, Index at) const override { return in_.i(d_.f[operand].outer, at); }

 private:
  const I& in_;
  const Dynamic& d_;
  const Tokens& t_;
};
// In place of x how far each element may lie from what it stands for, whichever range it was quantized by: the result is their sum
// weighted by magnitudes.
class Uncertainty final : public In {
 public:
  Uncertainty(const BoundedIn& in, const Dynamic& d, const Tokens& t) : in_(in), d_(d), t_(t) {}
  double f(int operand, Index at) const override {
    const auto [role, k, scale, zero_point] = d_.f[operand];
    if (role == Role::kWeight) return std::fabs(static_cast<double>(in_.i(k, at)) * d_.weight.of(in_, at));
    const Bounded v = in_.f(k, at);
    if (role == Role::kBias) return v.e + Bounded::u * std::fabs(v.v);
    const double step = !d_.quantizes ? 0 : t_.widest([&, k = k](Index i) { return in_.f(k, i).v; });
    return step + v.e + std::fabs(v.v) * (d_.weight.coarse() ? 0x1p-7 : 0x1p-16);
  }
  int64_t i(int operand, Index at) const override { return in_.i(d_.f[operand].outer, at); }

 private:
  const BoundedIn& in_;
  const Dynamic& d_;
  const Tokens& t_;
};

}  // namespace

OpDef dynamic(const std::string& name, const std::string& float_schema) {
  const Names n = names(float_schema);
  OpDef d;
  d.schema_text = fmt::format("{}({}, Tensor weight_scale, int bits=8) -> Tensor", name, n.params);
  const std::string target = n.target;
  d.infer = [target](const Call& c) -> Result<Types> {
    const OpDef* op = find(target);
    if (c.tensor("x").dtype != DType::f32)
      c.error(fmt::format("[xnn_quant.5] x is {}", edgewright::name(c.tensor("x").dtype)));
    check_weight(c, true);
    if (c.i("bits") != 8 && c.i("bits") != 4) c.error("[xnn_quant.6] bits must be 8 or 4");
    if (c.has("bias") && c.tensor("bias").dtype != DType::f32)
      c.error(fmt::format("[xnn_quant.4] bias is {}", edgewright::name(c.tensor("bias").dtype)));
    if (c.failed()) return Types{};
    const FloatCall f(c, *op);
    return infer(*op, f.call());
  };
  d.eval = [target](const Call& c, size_t) -> Result<Point> {
    const OpDef* op = find(target);
    const auto s = std::make_shared<const Dynamic>(c, *op);
    EW_ASSIGN(const Point p, point(*op, s->f.call(), 0));
    EW_ASSIGN(const Point free, point(*op, s->unbounded.call(), 0));
    const auto tokens = std::make_shared<const Tokens>(s->x, s->first);
    Point out;
    out.f = [s, p, tokens](const In& in, Index at) { return p.f(DynamicIn(in, *s, *tokens), at); };
    out.bounded = [s, p, free, tokens](const BoundedIn& in, Index at) {
      return Bounded::rounded(p.f(DynamicIn(in, *s, *tokens), at), free.f(Uncertainty(in, *s, *tokens), at));
    };
    return out;
  };
  d.whole = [target](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const OpDef* op = find(target);
    const Dynamic s(c, *op);
    const Tokens tokens(s.x, s.first);
    const TensorsIn raw(in);
    const DynamicIn<In> view(raw, s, tokens);
    const std::vector<ir::Tensor> operands = materialized(s.f, view, in);
    return float_whole(*op, s.f, operands, out[0]);
  };
  d.lower = [target](const ir::Node& node, XnnEmitter& out) { return find(target)->lower(node, out); };
  d.agreement = Agreement::kQuantized;
  return d;
}

}  // namespace edgewright::ops
