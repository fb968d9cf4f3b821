// src/passes/quantized_forms.cc - quantized-forms: q(op(dq(x), dq(w), b)) -> XNNPACK's quantized node on the integers themselves.
//   move(dq(x)) -> dq(move(x)); q(move(v)) -> move(q(v))   what moves elements moves integers: view, permute, cat, pad, pool, ...
//   clamp(dq(x)) -> dq(clamp(x))                           where the bounds are integers' values
//   q(dq(x)) -> x                                          the same scale and zero point
//   q(v) within narrower bounds -> clamp(q(v))
//   q(clamp(conv(dq(x), dq(w), b))) -> xnn.q_conv2d(x, w, b / (sx sw)) between permutes; linear, mm, addmm, add, sub, mul, mean
//                                      and activations likewise
//   linear(dq(q(x)), dq(w), b), where q's scale is chosen from x -> xnn.qd_fully_connected(x, w, b); convolutions likewise
// The first four are exact. The others compute the same real number and quantize it once: at most one step of the result apart. A
// dynamic form quantizes each row by its own range, never wider than what the program chose for all.
// What is not all of this (another user in between, weights around another zero point, scales along another dim, a scale that is
// not a positive normal number) stays as the program has it: q and dq are XNNPACK's conversions, and the op computes floats.
#include <algorithm>
#include <cmath>

#include "interp/interp.h"
#include "ops/xnn_quant.h"
#include "ops/xnn_support.h"
#include "passes/clamp_bounds.h"
#include "passes/convolution_form.h"

namespace edgewright::passes {
namespace {

using ops::Quantization;

constexpr const char* kQuantize = "quantized_decomposed.quantize_per_tensor";
constexpr const char* kDequantize = "quantized_decomposed.dequantize_per_tensor";

// dq(x) with constant parameters that XNNPACK takes.
struct Source {
  Node* node = nullptr;
  Value* x = nullptr;
  Quantization q;
};
std::optional<Source> dequantized(Value* v) {
  if (!v || !v->producer) return std::nullopt;
  const auto q = ops::dequantizes(*v->producer);
  if (!q || !ops::is_usable(*q)) return std::nullopt;
  return Source{v->producer, v->producer->inputs()[0], *q};
}
// The same dequantize of another value.
Value* dequantize(Rewriter& rw, const Source& like, Value* x) {
  std::vector<ir::Arg> args = like.node->args();
  args[0] = x;
  return rw(kDequantize, std::move(args));
}

// A constant, also one that a node is still to compute from constants.
Value* constant_of(Rewriter& rw, Value* v) {
  if (!v || v->is_constant()) return v;
  Node* n = v->producer;
  if (!n || n->num_results() != 1) return nullptr;
  const ops::OpDef* d = ops::def(*n);
  if (!d || d->is_nondeterministic || d->has_side_effect || d->functional) return nullptr;
  for (Value* x : n->inputs())
    if (!x->is_constant()) return nullptr;
  if (n->inputs().empty()) return nullptr;
  auto r = interp::evaluate(*n);
  if (!r || r->size() != 1) return nullptr;
  rw.matched(n);
  return rw.constant(std::move((*r)[0]), v->name);
}

std::vector<double> numbers(const Value* v) {
  const ir::Tensor t = v->data->contiguous();
  std::vector<double> out;
  for (int64_t i = 0; i < t.numel(); ++i) out.push_back(ir::load_f(t.dtype, t.data, i));
  return out;
}
ir::Tensor tensor_of(DType dtype, const std::vector<double>& values, std::vector<int64_t> sizes) {
  ir::Tensor t = ir::Tensor::empty(dtype, std::move(sizes));
  for (size_t i = 0; i < values.size(); ++i)
    is_float(dtype) ? ir::store_f(dtype, t.mutable_data(), static_cast<int64_t>(i), values[i])
                    : ir::store_i(dtype, t.mutable_data(), static_cast<int64_t>(i), static_cast<int64_t>(values[i]));
  return t;
}

// Weights: i8 around 0, one scale or one along a dim.
struct Weight {
  Node* node = nullptr;
  Value* w = nullptr;
  std::vector<double> scales;
  int64_t axis = -1;  // -1: one scale
};
// Why not, or the weights.
std::variant<Weight, std::string> weight_of(Rewriter& rw, Value* v) {
  Node* n = v ? v->producer : nullptr;
  if (!n) return "the weight is not dequantized";
  Weight r{.node = n};
  const bool per_channel = n->is("quantized_decomposed.dequantize_per_channel");
  if (!per_channel && !n->is(kDequantize)) return "the weight is not dequantized";
  r.w = constant_of(rw, n->arg("input").value());
  if (!r.w) return "the quantized weight is not a constant";
  if (r.w->tensor()->dtype != DType::i8 || !is_f32(v)) return "the weight is not i8";
  if (!per_channel) {
    const auto q = ops::dequantizes(*n);
    if (!q) return "the weight's scale is known only at run time";
    if (q->zero_point != 0) return "the weight's zero point is not 0";
    r.scales = {q->scale};
  } else {
    Value *s = constant_of(rw, n->arg("scales").value()), *z = n->arg("zero_points").value();
    if (z && !(z = constant_of(rw, z))) return "the weight's zero points are known only at run time";
    const ir::Arg axis = n->arg("axis");
    if (!s || !axis.i()) return "the weight's scales are known only at run time";
    if (z)
      for (double x : numbers(z))
        if (x != 0) return "a zero point of the weight is not 0";
    r.scales = numbers(s);
    const auto rank = static_cast<int64_t>(r.w->tensor()->rank());
    r.axis = *axis.i() < 0 ? *axis.i() + rank : *axis.i();
    if (r.scales.size() == 1) r.axis = -1;
  }
  for (double x : r.scales)
    if (!ops::is_usable_scale(x)) return fmt::format("a scale of the weight is {}", x);
  return r;
}

// The bias in units of the product's scales, one for each output; why not where that loses more than half a step of the result, or
// where sums of `depth` products might not fit into 32 bits.
std::variant<Value*, std::string> quantized_bias(Rewriter& rw, Value* b, double x_scale,
                                                 const std::vector<double>& scales, double y_scale, int64_t outputs,
                                                 int64_t depth) {
  const double most = 0x1p31 - static_cast<double>(depth) * 0x1p15;
  if (most < 0) return "sums of so many products do not fit into 32 bits";
  if (!b) return static_cast<Value*>(nullptr);
  if (!(b = constant_of(rw, b))) return "the bias is not a constant";
  if (!is_f32(b) || b->tensor()->rank() != 1 || b->data->numel() != outputs)
    return "the bias is not one f32 for each output";
  std::vector<double> q = numbers(b);
  for (size_t i = 0; i < q.size(); ++i) {
    const double unit = static_cast<double>(static_cast<float>(x_scale * scales[scales.size() == 1 ? 0 : i]));
    const double exact = q[i];
    q[i] = std::nearbyint(exact / unit);
    if (!(std::fabs(q[i]) < most)) return "the bias is too large for its scale";
    if (!(std::fabs(exact - q[i] * unit) <= 0.5 * y_scale))
      return "the scales of input and weight are too coarse for the bias";
  }
  const auto n = static_cast<int64_t>(q.size());
  return rw.constant(tensor_of(DType::i32, q, {n}), b->name);
}

// A quantize node and what it may take in: the value quantized, through a clamp that nothing else reads.
struct Sink {
  Node& q;
  Quantization y;
  Value* v = nullptr;
  double lo = -INFINITY, hi = INFINITY;
  Node* clamp = nullptr;
};

Match if_taken(Rewriter& rw, Value* y, Value* result) {
  if (!y || !result) return rw.replace(result);  // reports the failure
  std::string reason;
  if (!ops::xnn_takes(*y->producer, &reason)) return no_match(reason);
  return rw.replace(result);
}

// ---- static ---------------------------------------------------------------------------------------------------------

Match convolution(Node& n, const Sink& s, Rewriter& rw) {
  const auto x = dequantized(n.arg("input").value());
  if (!x) return no_match("the input of the convolution is not dequantized");
  auto weight = weight_of(rw, n.arg("weight").value());
  if (const auto* reason = std::get_if<std::string>(&weight)) return no_match(*reason);
  auto& w = std::get<Weight>(weight);
  auto form = convolution_form(n, rw, x->x, w.w);
  if (const auto* reason = std::get_if<std::string>(&form)) return no_match(*reason);
  auto& f = std::get<ConvolutionForm>(form);
  const bool transposed = f.op == "deconv2d";
  if (w.axis >= 0 && w.axis != (transposed ? 1 : 0))
    return no_match("the weight has scales along another dim than the outputs");
  if (transposed && w.axis >= 0) {  // [i, o/g, ...]: each group has the same scales
    const std::vector<double> one = w.scales;
    for (int64_t g = 1; g < f.groups; ++g) w.scales.insert(w.scales.end(), one.begin(), one.end());
  }
  const auto shape = sizes_of(f.args[1].value());
  int64_t depth = 1;
  for (size_t d = 1; shape && d < 4; ++d) depth *= (*shape)[d];
  if (f.op == "depthwise_conv2d") depth = (*shape)[1] * (*shape)[2];
  auto bias = quantized_bias(rw, n.arg("bias").value(), x->q.scale, w.scales, s.y.scale, f.out_channels, depth);
  if (const auto* reason = std::get_if<std::string>(&bias)) return no_match(*reason);
  if (Value* b = std::get<Value*>(bias)) f.args[2] = b;
  Value* scales = rw.constant(tensor_of(DType::f32, w.scales, {static_cast<int64_t>(w.scales.size())}), "weight_scale");
  f.args.insert(f.args.end(), {s.lo, s.hi, x->q.scale, x->q.zero_point, scales, s.y.scale, s.y.zero_point});
  Value* y = rw("xnn.q_" + f.op, std::move(f.args));
  return if_taken(rw, y, f.restored(rw, y));
}

// x, weight and bias of linear, mm and addmm; an empty name where it is not such a product.
struct Linear {
  Value *x = nullptr, *w = nullptr, *b = nullptr;
  bool transposed = false;  // the weight is [k, n]
  std::string why_not;
};
Linear linear_of(const Node& n) {
  const auto is_one = [](const ir::Arg& a) { return (a.i() && *a.i() == 1) || (a.f() && *a.f() == 1); };
  if (n.is("aten.linear")) return {n.arg("input").value(), n.arg("weight").value(), n.arg("bias").value(), false, {}};
  if (n.is("aten.mm")) return {n.arg("self").value(), n.arg("mat2").value(), nullptr, true, {}};
  Linear r{n.arg("mat1").value(), n.arg("mat2").value(), n.arg("self").value(), true, {}};
  if (!is_one(n.arg("alpha")) || !is_one(n.arg("beta"))) r.why_not = "alpha or beta is not 1";
  return r;
}

Match linear(Node& n, const Sink& s, Rewriter& rw) {
  const Linear l = linear_of(n);
  if (!l.why_not.empty()) return no_match(l.why_not);
  const auto x = dequantized(l.x);
  if (!x) return no_match("the input of the product is not dequantized");
  auto weight = weight_of(rw, l.w);
  if (const auto* reason = std::get_if<std::string>(&weight)) return no_match(*reason);
  auto& w = std::get<Weight>(weight);
  const auto ws = sizes_of(w.w);
  if (!ws || ws->size() != 2) return no_match("the weight is no matrix");
  const size_t out = l.transposed ? 1 : 0;
  if (w.axis >= 0 && w.axis != static_cast<int64_t>(out))
    return no_match("the weight has scales along another dim than the outputs");
  auto bias = quantized_bias(rw, l.b, x->q.scale, w.scales, s.y.scale, (*ws)[out], (*ws)[1 - out]);
  if (const auto* reason = std::get_if<std::string>(&bias)) return no_match(*reason);
  Value* b = std::get<Value*>(bias);
  Value* scales = rw.constant(tensor_of(DType::f32, w.scales, {static_cast<int64_t>(w.scales.size())}), "weight_scale");
  Value* y = rw("xnn.q_fully_connected", {x->x, w.w, b ? ir::Arg(b) : ir::Arg(), l.transposed, s.lo, s.hi, x->q.scale,
                                          x->q.zero_point, scales, s.y.scale, s.y.zero_point});
  return if_taken(rw, y, y);
}

Match binary(Node& n, const Sink& s, Rewriter& rw) {
  const ir::Arg left = n.arg("self"), right = n.arg("other");
  const auto a = dequantized(left.value()), b = dequantized(right.value());
  if (!a || !b) return no_match("an operand is not dequantized");
  if (n.op().schema.index_of("alpha") >= 0) {
    const ir::Arg alpha = n.arg("alpha");
    if (!((alpha.i() && *alpha.i() == 1) || (alpha.f() && *alpha.f() == 1))) return no_match("alpha is not 1");
  }
  const std::string op = n.is("aten.add.Tensor") ? "xnn.q_add" : n.is("aten.sub.Tensor") ? "xnn.q_sub" : "xnn.q_mul";
  Value* y = rw(op, {a->x, b->x, s.lo, s.hi, a->q.scale, a->q.zero_point, b->q.scale, b->q.zero_point, s.y.scale,
                     s.y.zero_point});
  return if_taken(rw, y, y);
}

Match mean(Node& n, const Sink& s, Rewriter& rw) {
  const auto x = dequantized(n.arg("self").value());
  if (!x) return no_match("the input of the mean is not dequantized");
  const auto xs = sizes_of(x->x), ys = sizes_of(n.result());
  const ir::Arg dim = n.arg("dim");
  if (!xs || !ys || xs->size() != 4 || !dim.list() || !is_f32(n.result()))
    return no_match("XNNPACK's payload has the mean over height and width only");
  std::vector<int64_t> dims;
  for (const ir::Arg& d : *dim.list()) {
    if (!d.i()) return no_match("a dim known only at run time");
    dims.push_back(*d.i() < 0 ? *d.i() + 4 : *d.i());
  }
  std::sort(dims.begin(), dims.end());
  const bool nchw = dims == std::vector<int64_t>{2, 3};
  if (!nchw && dims != std::vector<int64_t>{1, 2})
    return no_match("XNNPACK's payload has the mean over height and width only");
  Value* y = rw("xnn.q_global_avg_pool2d", {nchw ? rw.permute(x->x, kToNhwc) : x->x, s.lo, s.hi, x->q.scale,
                                            x->q.zero_point, s.y.scale, s.y.zero_point});
  return if_taken(rw, y, y ? rw.view(y, *ys) : y);
}

Match unary(Node& n, const Sink& s, Rewriter& rw) {
  if (s.clamp) return no_match("its node has no bounds");
  const auto x = dequantized(n.arg("self").value());
  if (!x) return no_match("its input is not dequantized");
  std::vector<ir::Arg> args{x->x};
  for (size_t i = 1; i < n.op().schema.params.size(); ++i) args.push_back(n.arg(n.op().schema.params[i].name));
  args.insert(args.end(), {x->q.scale, x->q.zero_point, s.y.scale, s.y.zero_point});
  Value* y = rw("xnn.q_" + n.name().substr(5), std::move(args));
  return if_taken(rw, y, y);
}

bool in_full_range(const Node& q) {
  const ir::Arg lo = q.arg("quant_min"), hi = q.arg("quant_max");
  return lo.i() && hi.i() && *lo.i() <= -128 && *hi.i() >= 127;
}

// What moves elements without leaving any out or making any: quantizing after it is as before it.
bool only_moves(const Node& n) {
  return n.is("aten.view") || n.is("aten.reshape") || n.is("aten._unsafe_view") || n.is("aten.unsqueeze") ||
         n.name().starts_with("aten.squeeze") || n.is("aten.flatten.using_ints") || permutation(&n).has_value();
}
Value* moved(Rewriter& rw, const Node& move, Value* x) {
  std::vector<ir::Arg> args = move.args();
  args[0] = x;
  return rw(move.name(), std::move(args));
}

Match quantize(Node& n, Rewriter& rw) {
  const auto y = ops::quantizes(n);
  if (!y) return no_match();
  if (!ops::is_usable(*y))
    return no_match(fmt::format("the result has scale {} and zero point {}", y->scale, y->zero_point));
  Value* v = n.inputs()[0];
  if (v->is_constant()) return no_match();  // folded in due time
  if (!in_full_range(n)) {
    const ir::Arg lo = n.arg("quant_min"), hi = n.arg("quant_max");
    if (!lo.i() || !hi.i() || *lo.i() >= *hi.i()) return no_match("its bounds are no range");
    std::vector<ir::Arg> args = n.args();
    args[3] = -128;
    args[4] = 127;
    rw.promise(Agreement::kBitExact);
    return rw.replace(rw("aten.clamp", {rw(kQuantize, std::move(args)), lo, hi}));
  }
  if (const auto x = dequantized(v); x && x->q == *y) {
    rw.matched(x->node);
    rw.promise(Agreement::kBitExact);
    return rw.replace(x->x);
  }
  if (!v->producer) return no_match();
  if (only_moves(*v->producer) && only_user(v)) {
    Node* move = v->producer;
    rw.matched(move);
    std::vector<ir::Arg> args = n.args();
    args[0] = move->inputs()[0];
    rw.promise(Agreement::kBitExact);
    return rw.replace(moved(rw, *move, rw(kQuantize, std::move(args))));
  }
  Sink s{.q = n, .y = *y, .v = v};
  if (is_clamp(*v->producer)) {
    Node* clamp = v->producer;
    const auto b = clamp_bounds(*clamp);
    if (!b || !(b->first < b->second) || !only_user(v))
      return no_match("its clamp has another user, or no constant bounds");
    s.clamp = clamp;
    s.lo = b->first;
    s.hi = b->second;
    s.v = clamp->inputs()[0];
    rw.matched(clamp);
  }
  Node* op = s.v->producer;
  if (!op || op->num_results() != 1) return no_match();
  const auto matches = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return op->is(name); });
  };
  Match (*form)(Node&, const Sink&, Rewriter&) = nullptr;
  if (op->is("aten.convolution")) form = convolution;
  if (matches({"aten.linear", "aten.mm", "aten.addmm"})) form = linear;
  if (matches({"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor"})) form = binary;
  if (op->is("aten.mean.dim")) form = mean;
  if (matches({"aten.sigmoid", "aten.tanh", "aten.hardswish", "aten.elu", "aten.leaky_relu"})) form = unary;
  if (!form) return no_match();
  if (!only_user(s.v)) return no_match("the value before it is quantized has another user");
  rw.matched(op);
  for (Value* x : op->inputs())
    if (x->producer && (x->producer->is(kDequantize) || x->producer->is("quantized_decomposed.dequantize_per_channel")))
      rw.matched(x->producer);
  return form(*op, s, rw);
}

// ---- moves on the integers ------------------------------------------------------------------------------------------

Match move(Node& n, Rewriter& rw) {
  const auto x = dequantized(n.inputs().empty() ? nullptr : n.inputs()[0]);
  if (!x) return no_match();
  rw.promise(Agreement::kBitExact);
  rw.matched(x->node);
  if (!is_clamp(n) && !n.is("aten.constant_pad_nd")) return rw.replace(dequantize(rw, *x, moved(rw, n, x->x)));
  // A number that stands for an integer: exactly, or nothing is said.
  const auto stored = [&](double real) -> std::optional<int64_t> {
    const double q = std::nearbyint(real / x->q.scale) + static_cast<double>(x->q.zero_point);
    const auto scale = static_cast<float>(x->q.scale);
    if (!(q >= -128 && q <= 127)) return std::nullopt;
    const float back = (static_cast<float>(q) - static_cast<float>(x->q.zero_point)) * scale;
    if (back != static_cast<float>(real)) return std::nullopt;
    return static_cast<int64_t>(q);
  };
  if (is_clamp(n)) {
    const auto b = clamp_bounds(n);
    if (!b) return no_match("its bounds are not constants");
    const auto lo = b->first == -INFINITY ? std::optional<int64_t>(-128) : stored(b->first),
               hi = b->second == INFINITY ? std::optional<int64_t>(127) : stored(b->second);
    if (!lo || !hi || !(*lo < *hi)) return no_match("a bound is no value of an integer");
    return rw.replace(dequantize(rw, *x, rw("aten.clamp", {x->x, *lo, *hi})));
  }
  const ir::Arg value = n.arg("value");
  const auto fill = stored(value.f() ? *value.f() : value.i() ? static_cast<double>(*value.i()) : NAN);
  if (!fill) return no_match("the padding is no value of an integer");
  return rw.replace(dequantize(rw, *x, rw("aten.constant_pad_nd", {x->x, n.arg("pad"), *fill})));
}

Match cat(Node& n, Rewriter& rw) {
  const ir::Arg list = n.arg("tensors");
  if (!list.list() || list.list()->empty()) return no_match();
  std::optional<Source> first;
  ir::ArgList xs;
  for (const ir::Arg& a : *list.list()) {
    const auto x = dequantized(a.value());
    if (!x || (first && !(x->q == first->q)))
      return no_match(first ? "its operands are quantized by different scales" : "");
    if (!first) first = x;
    rw.matched(x->node);
    xs.push_back(x->x);
  }
  rw.promise(Agreement::kBitExact);
  return rw.replace(dequantize(rw, *first, rw("aten.cat", {std::move(xs), n.arg("dim")})));
}

Match rewrite(Node& n, Rewriter& rw) {
  if (n.is(kQuantize)) return quantize(n, rw);
  if (n.is("aten.cat")) return cat(n, rw);
  if (n.num_results() != 1 || !n.result()->tensor()) return no_match();
  if (only_moves(n) || is_clamp(n) || n.is("aten.constant_pad_nd") || n.is("aten.slice.Tensor") ||
      n.is("aten.select.int") || n.is("aten.clone"))
    return move(n, rw);
  return no_match();
}

}  // namespace
PassDef define_quantized_forms() {
  return {.name = "quantized-forms",
          .rewrite = rewrite,
          .agreement = Agreement::kQuantized,
          .summary = "q(op(dq(x), dq(w))) -> XNNPACK's node on the integers; moves of dq and q on the integers"};
}
}  // namespace edgewright::passes
