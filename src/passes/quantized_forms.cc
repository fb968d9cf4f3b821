// src/passes/quantized_forms.cc - quantized-forms: q(op(dq(x), dq(w), b)) -> XNNPACK's quantized node on the integers themselves.
//   move(dq(x)) -> dq(move(x)); q(move(v)) -> move(q(v))   what moves elements moves integers: view, permute, cat, pad, pool, ...
//   clamp(dq(x)) -> dq(clamp(x))                           where the bounds are integers' values; q(clamp(dq(x))) -> clamp(x) for any
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

constexpr const char* kDequantizeAffine = "torchao.dequantize_affine";

bool is_dequantize(const Node& n) { return n.name().find(".dequantize_") != std::string::npos; }

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

// Weights: i8 around 0, one scale, one along a dim, or one for each of `blocks` equal parts of each row (dim 0).
struct Weight {
  Node* node = nullptr;
  Value* w = nullptr;
  std::vector<double> scales;
  int64_t axis = -1;  // -1: one scale
  int64_t blocks = 0;
  bool four_bits = false;
};
// Sizes of a list argument; empty where one is known only at run time.
std::vector<int64_t> list_of(const Node& n, std::string_view param) {
  const ir::Arg a = n.arg(param);
  std::vector<int64_t> out;
  if (!a.list()) return out;
  for (const ir::Arg& x : *a.list()) {
    if (!x.i()) return {};
    out.push_back(*x.i());
  }
  return out;
}

// Why not, or the weights; `dtype` is what they are dequantized to.
std::variant<Weight, std::string> weight_of(Rewriter& rw, Value* v, DType dtype = DType::f32) {
  Node* n = v ? v->producer : nullptr;
  if (!n) return "the weight is not dequantized";
  Weight r{.node = n};
  const bool per_channel = n->is("quantized_decomposed.dequantize_per_channel"),
             per_group = n->is("quantized_decomposed.dequantize_per_channel_group"), affine = n->is(kDequantizeAffine);
  if (!per_channel && !per_group && !affine && !n->is(kDequantize)) return "the weight is not dequantized";
  r.w = constant_of(rw, n->arg("input").value());
  if (!r.w) return "the quantized weight is not a constant";
  if (r.w->tensor()->dtype != DType::i8 || v->tensor()->dtype != dtype) return "the weight is not i8";
  const auto sizes = sizes_of(r.w);
  if (!sizes || sizes->empty()) return "the weight has no dims";
  Value *scales = nullptr, *zero_points = nullptr;
  if (n->is(kDequantize)) {
    const ir::Arg scale = n->arg("scale"), zero_point = n->arg("zero_point");
    if (!scale.f() || !zero_point.i()) return "the weight's scale is known only at run time";
    if (*zero_point.i() != 0) return "the weight's zero point is not 0";
    r.scales = {*scale.f()};
  } else {
    scales = constant_of(rw, n->arg(affine ? "scale" : "scales").value());
    zero_points = n->arg(affine ? "zero_point" : "zero_points").value();
    if (!scales || (zero_points && !(zero_points = constant_of(rw, zero_points))))
      return "the weight's scales are known only at run time";
    if (zero_points)
      for (double x : numbers(zero_points))
        if (x != 0) return "a zero point of the weight is not 0";
    r.scales = numbers(scales);
  }
  if (per_channel) {
    const ir::Arg axis = n->arg("axis");
    if (!axis.i()) return "the weight's axis is known only at run time";
    r.axis = *axis.i() < 0 ? *axis.i() + static_cast<int64_t>(sizes->size()) : *axis.i();
  }
  if (per_group || affine) {
    std::vector<int64_t> block = affine ? list_of(*n, "block_size") : std::vector<int64_t>{1, 0};
    if (per_group) {
      const ir::Arg group = n->arg("group_size");
      block[1] = group.i() ? *group.i() : 0;
    }
    if (block.size() != sizes->size() || block.empty()) return "the weight's blocks do not fit it";
    const bool whole = std::equal(block.begin() + 1, block.end(), sizes->begin() + 1);
    if (whole && block[0] == (*sizes)[0]) {
      r.axis = -1;
    } else if (whole && block[0] == 1) {
      r.axis = 0;
    } else if (block.size() == 2 && block[0] == 1 && block[1] > 0 && (*sizes)[1] % block[1] == 0) {
      r.axis = 0;
      r.blocks = (*sizes)[1] / block[1];
    } else {
      return "the weight's blocks are not parts of its rows";
    }
    const int64_t wanted = r.axis < 0 ? 1 : (*sizes)[0] * std::max<int64_t>(r.blocks, 1);
    if (static_cast<int64_t>(r.scales.size()) != wanted) return "the weight has another number of scales than blocks";
  }
  if (r.scales.size() == 1) r.axis = -1;
  const ir::Arg least = n->arg("quant_min"), most = n->arg("quant_max");
  if (least.i() && most.i() && *least.i() >= -8 && *most.i() <= 7) {
    const std::vector<double> q = numbers(r.w);
    r.four_bits = std::all_of(q.begin(), q.end(), [](double x) { return x >= -8 && x <= 7; });
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
  if (w.blocks > 0) return no_match("the weight has scales of blocks");
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
  if (w.blocks > 0) return no_match("the weight has scales of blocks");
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
    if (const auto x = dequantized(s.v); x && x->q == *y) {  // on the integers, each bound at the nearest one
      const auto nearest = [&](double real) {
        const double q = std::nearbyint(real / y->scale) + static_cast<double>(y->zero_point);
        return static_cast<int64_t>(std::clamp(q, -128.0, 127.0));
      };
      const int64_t lo = nearest(s.lo), hi = nearest(s.hi);
      if (!(lo < hi)) return no_match("its clamp leaves one integer");
      rw.matched(x->node);
      return rw.replace(rw("aten.clamp", {x->x, lo, hi}));
    }
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
    if (x->producer && is_dequantize(*x->producer)) rw.matched(x->producer);
  return form(*op, s, rw);
}

// ---- dynamic --------------------------------------------------------------------------------------------------------

// What is quantized by a scale that is chosen from it, and dequantized at once.
struct Chosen {
  Value* x = nullptr;
  bool per_row = false;  // one scale for each index but the last; otherwise one for all
  std::vector<Node*> nodes;
};
std::variant<Chosen, std::string> chosen(Value* v) {
  static const std::string kNot = "the input is not quantized by a scale that is chosen from it";
  Chosen c;
  Node* dq = v ? v->producer : nullptr;
  if (!dq) return kNot;
  const bool tensor = dq->is("quantized_decomposed.dequantize_per_tensor.tensor"),
             token = dq->is("quantized_decomposed.dequantize_per_token"), affine = dq->is(kDequantizeAffine);
  if (!tensor && !token && !affine) return kNot;
  Node* q = dq->arg("input").value()->producer;
  if (!q || !q->is(tensor  ? "quantized_decomposed.quantize_per_tensor.tensor"
                   : token ? "quantized_decomposed.quantize_per_token"
                           : "torchao.quantize_affine"))
    return kNot;
  const char *scale = token ? "scales" : "scale", *zero_point = token ? "zero_points" : "zero_point";
  const Value *s = q->arg(scale).value(), *z = q->arg(zero_point).value();
  if (!s || !z || dq->arg(scale).value() != s || dq->arg(zero_point).value() != z)
    return "it is dequantized by another scale or zero point";
  Node* choose = s->producer;
  if (!choose || choose != z->producer || choose->result(0) != s || choose->num_results() < 2 || choose->result(1) != z)
    return kNot;
  if (!choose->is(tensor  ? "quantized_decomposed.choose_qparams.tensor"
                  : token ? "quantized_decomposed.choose_qparams_per_token_asymmetric"
                          : "torchao.choose_qparams_affine"))
    return kNot;
  c.x = q->arg("input").value();
  if (choose->arg("input").value() != c.x) return "the scale is chosen from another value";
  const auto all_of_i8 = [](const Node& n) {
    const ir::Arg lo = n.arg("quant_min"), hi = n.arg("quant_max");
    return lo.i() && hi.i() && *lo.i() == -128 && *hi.i() == 127;
  };
  if (!all_of_i8(*q) || q->result()->tensor()->dtype != DType::i8 || (!token && !all_of_i8(*choose)))
    return "it is not quantized to all of i8";
  c.per_row = token;
  if (affine) {
    const ir::Arg mapping = choose->arg("mapping_type");
    if (!mapping.s() || *mapping.s() != "ASYMMETRIC") return "its range is chosen around 0";
    const ir::Arg block = q->arg("block_size");
    if (!(block == dq->arg("block_size")) || !(block == choose->arg("block_size")) || !block.list())
      return "it is quantized in other blocks than dequantized";
    const auto& shape = c.x->tensor()->shape;
    if (block.list()->size() != shape.size() || shape.empty()) return "its blocks do not fit it";
    const auto covers = [&](size_t d) {
      const ir::Arg& b = (*block.list())[d];
      if (b.i()) return shape[d].is_constant() && *b.i() == shape[d].value();
      const ir::Value* bv = b.value();
      return bv && bv->scalar() && bv->scalar()->expr && *bv->scalar()->expr == shape[d];
    };
    if (!covers(shape.size() - 1)) return "its blocks are parts of rows";
    for (size_t d = 0; d + 1 < shape.size(); ++d) {
      const ir::Arg& b = (*block.list())[d];
      if (!b.i() || *b.i() != 1) return "its blocks are more than rows";
    }
    c.per_row = true;
  }
  c.nodes = {dq, q, choose};
  return c;
}

// Through moves between the dequantize and the product, which move the floats just as well: views, and a padding with zeros, which
// widens no range. `keep_rows`: the last dim stays whole.
std::variant<Chosen, std::string> chosen_through(Value* v, bool pads, std::vector<Node*>& moves) {
  for (int steps = 0; v && v->producer && steps < 8; ++steps) {
    Node* n = v->producer;
    const bool zeros = pads && n->is("aten.constant_pad_nd") && [&] {
      const ir::Arg value = n->arg("value");
      return (value.f() && *value.f() == 0) || (value.i() && *value.i() == 0);
    }();
    if (!zeros && (!only_moves(*n) || permutation(n))) break;
    moves.push_back(n);
    v = n->inputs()[0];
  }
  auto c = chosen(v);
  if (const auto* f = std::get_if<Chosen>(&c); f && f->per_row)
    for (const Node* m : moves) {
      const auto &from = m->inputs()[0]->tensor()->shape, &to = m->result()->tensor()->shape;
      if (from.empty() || to.empty() || !(from.back() == to.back()))
        return "rows that were quantized alone are moved together";
    }
  return c;
}

// A product of floats with quantized weights, which stay as they are.
Match weights_alone(Node& n, const Linear& l, Rewriter& rw) {
  if (!is_f32(l.x) || l.x->is_constant()) return no_match();
  auto weight = weight_of(rw, l.w);
  if (const auto* reason = std::get_if<std::string>(&weight)) return no_match(*reason);
  auto& w = std::get<Weight>(weight);
  const auto ws = sizes_of(w.w);
  const size_t out = l.transposed ? 1 : 0;
  if (!ws || ws->size() != 2 || w.blocks > 0 || (w.axis >= 0 && w.axis != static_cast<int64_t>(out)))
    return no_match("the weight has scales of blocks, or along another dim than the outputs");
  Value* b = l.b;
  if (b && !(b = constant_of(rw, b))) return no_match("the bias is not a constant");
  if (b && (b->tensor()->rank() != 1 || !is_f32(b))) return no_match("the bias is no row of floats");
  if (w.scales.size() == 1) w.scales.resize(static_cast<size_t>((*ws)[out]), w.scales[0]);
  Value* scales = rw.constant(tensor_of(DType::f32, w.scales, {(*ws)[out]}), "weight_scale");
  rw.matched(w.node);
  // The bias stands outside: XNNPACK multiplies it by the weights' scale.
  Value* y = rw("xnn.qw_fully_connected",
                {l.x, w.w, ir::Arg(), l.transposed, -INFINITY, INFINITY, scales, w.four_bits && !l.transposed ? 4 : 8});
  return if_taken(rw, y, y && b ? rw("aten.add.Tensor", {y, b}) : y);
}

Match dynamic(Node& n, Rewriter& rw) {
  const bool conv = n.is("aten.convolution");
  const Linear l =
      conv ? Linear{n.arg("input").value(), n.arg("weight").value(), n.arg("bias").value(), false, {}} : linear_of(n);
  if (!l.why_not.empty() || n.num_results() != 1 || !n.result()->tensor()) return no_match();
  std::vector<Node*> moves;
  auto source = chosen_through(l.x, conv, moves);
  if (std::get_if<std::string>(&source)) {
    const bool static_input = l.x->producer && l.x->producer->is(kDequantize);
    if (!conv && !static_input && l.w->producer && is_dequantize(*l.w->producer)) return weights_alone(n, l, rw);
    // Said only where something was dequantized.
    const bool meant = l.x->producer && is_dequantize(*l.x->producer) && !l.x->producer->is(kDequantize);
    return no_match(meant ? std::get<std::string>(source) : "");
  }
  auto& c = std::get<Chosen>(source);
  const DType t = n.result()->tensor()->dtype;
  if (c.x->tensor()->dtype != t || (t != DType::f32 && t != DType::f16)) return no_match("dtypes differ");
  auto weight = weight_of(rw, l.w, t);
  if (const auto* reason = std::get_if<std::string>(&weight)) return no_match(*reason);
  auto& w = std::get<Weight>(weight);
  Value* b = l.b;
  if (b && !(b = constant_of(rw, b))) return no_match("the bias is not a constant");
  if (b && (b->tensor()->rank() != 1 || !is_float(b->tensor()->dtype))) return no_match("the bias is no row of floats");
  if (b && b->tensor()->dtype != DType::f32)
    b = rw.constant(tensor_of(DType::f32, numbers(b), b->data->sizes), b->name);
  for (Node* m : c.nodes) rw.matched(m);
  for (Node* m : moves) rw.matched(m);
  rw.matched(w.node);
  Value* x = t == DType::f32 ? c.x : rw("aten._to_copy", {c.x, DType::f32});
  for (auto m = moves.rbegin(); m != moves.rend() && x; ++m) x = moved(rw, **m, x);
  if (!x) return rw.replace(x);
  const auto scales_of = [&](int64_t outputs) {
    std::vector<double> s = w.scales;
    if (s.size() == 1) s.resize(static_cast<size_t>(outputs), s[0]);
    std::vector<int64_t> sizes{outputs};
    if (w.blocks > 0) sizes.push_back(w.blocks);
    return rw.constant(tensor_of(w.blocks > 0 ? DType::bf16 : DType::f32, s, sizes), "weight_scale");
  };
  Value *y, *result;
  if (conv) {
    auto form = convolution_form(n, rw, x, w.w);
    if (const auto* reason = std::get_if<std::string>(&form)) return no_match(*reason);
    auto& f = std::get<ConvolutionForm>(form);
    const bool transposed = f.op == "deconv2d";
    if (f.op == "depthwise_conv2d")
      return no_match("XNNPACK has no depthwise convolution of values quantized on the way");
    if (w.blocks > 0) return no_match("the weight has scales of blocks");
    if (w.axis >= 0 && w.axis != (transposed ? 1 : 0))
      return no_match("the weight has scales along another dim than the outputs");
    if (transposed && w.axis >= 0) {
      const std::vector<double> one = w.scales;
      for (int64_t g = 1; g < f.groups; ++g) w.scales.insert(w.scales.end(), one.begin(), one.end());
    }
    if (b) f.args[2] = b;
    f.args.insert(f.args.end(), {-INFINITY, INFINITY, scales_of(f.out_channels), 8});
    y = rw("xnn.qd_" + f.op, std::move(f.args));
    result = f.restored(rw, y);
  } else {
    const auto ws = sizes_of(w.w);
    if (!ws || ws->size() != 2) return no_match("the weight is no matrix");
    const size_t out = l.transposed ? 1 : 0;
    if (w.axis >= 0 && w.axis != static_cast<int64_t>(out))
      return no_match("the weight has scales along another dim than the outputs");
    const bool four = w.four_bits && !l.transposed;
    if (w.blocks > 0 && (!four || (*ws)[1] / w.blocks % 32 != 0))
      return no_match("XNNPACK has blocks of weights of 4 bits, and of 32, 64, ... elements");
    y = rw("xnn.qd_fully_connected", {x, w.w, b ? ir::Arg(b) : ir::Arg(), l.transposed, -INFINITY, INFINITY,
                                      scales_of((*ws)[out]), four ? 4 : 8});
    result = y;
  }
  if (result && t != DType::f32) result = rw("aten._to_copy", {result, t});
  return if_taken(rw, y, result);
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
    if (!lo || !hi || !(*lo < *hi)) {
      const bool ends = std::all_of(n.result()->users.begin(), n.result()->users.end(),
                                    [](const Node* u) { return u->is(kQuantize); });  // which takes it in
      return no_match(ends ? "" : "a bound is no value of an integer");
    }
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
  if (n.is("aten.linear") || n.is("aten.mm") || n.is("aten.addmm") || n.is("aten.convolution")) return dynamic(n, rw);
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
