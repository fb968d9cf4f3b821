#include "ops/xnn_support.h"

#include <algorithm>

#include "ops/families.h"
#include "ops/xnn_quant.h"

namespace edgewright::ops {

namespace {
using V = const ir::Value*;
constexpr size_t kMaxDims = 6;  // XNN_MAX_TENSOR_DIMS

template <class... A>
std::unexpected<Error> kept(FormatAt<std::type_identity_t<A>...> f, A&&... a) {
  return fail(Code::kKeptOnHost, f, std::forward<A>(a)...);
}

// What holds for every tensor in a payload: its dtype, rank within bounds, no empty dims. Sizes may be symbolic: XNNPACK derives them
// anew from its inputs' sizes, by the same rules as ours. An i8 value has one quantization, whoever reads or makes it, and one that
// XNNPACK takes.
Result<void> tensor_ok(V v, const char* what, DType dtype = DType::f32) {
  if (!v) return {};
  const TensorType* t = v->tensor();
  if (!t) return kept("{} is not a tensor", what);
  if (t->dtype != dtype) {
    if (dtype != DType::f32) return kept("{} is {}, not {}", what, name(t->dtype), name(dtype));
    return kept("{} is {}; XNNPACK computes f32", what, name(t->dtype));
  }
  if (t->rank() > kMaxDims) return kept("{} has {} dims; XNNPACK takes up to {}", what, t->rank(), kMaxDims);
  for (const Dim& d : t->shape) {
    if (d == Dim(0)) return kept("{} is empty", what);
    if (d.maybe().value_or(1) > UINT32_MAX) return kept("{} is too large", what);
  }
  if (dtype != DType::i8 || (!v->producer && v->users.empty())) return {};
  const Stated s = quantization_of(v);
  if (s.conflict) return kept("{} is quantized by one scale or zero point and read by another", what);
  if (s.quantization && !is_usable(*s.quantization))
    return kept("{} has scale {} and zero point {}", what, s.quantization->scale, s.quantization->zero_point);
  return {};
}
Result<void> tensors_ok(std::initializer_list<std::pair<V, const char*>> vs, DType dtype = DType::f32) {
  for (const auto& [v, what] : vs) EW_TRY(tensor_ok(v, what, dtype));
  return {};
}
// Of a node that computes: i8 where it is a quantized one.
DType computed(V out) { return form_of(out) == Form::kQuantized ? DType::i8 : DType::f32; }
// Of a node that moves, orders or bounds elements, whatever they stand for.
DType carried(V in) { return in->tensor() && in->tensor()->dtype == DType::i8 ? DType::i8 : DType::f32; }
// Of a node that converts between f32 and f16.
DType halved(V v) { return v->tensor() && v->tensor()->dtype == DType::f16 ? DType::f16 : DType::f32; }
// A ratio of scales that XNNPACK's fixed-point and float requantization are made for.
Result<void> ratio_ok(double ratio, double least, double most) {
  if (ratio >= least && ratio < most) return {};
  return kept("a ratio of scales of {} is outside of [{}, {})", ratio, least, most);
}
// For symbolic sizes alone: those of static shapes agree by the op's own rule.
Result<void> same_shape(V a, V b) {
  const Shape &x = a->tensor()->shape, &y = b->tensor()->shape;
  if ((!ir::is_static(x) || !ir::is_static(y)) && !(x == y))
    return kept("sizes known only at run time that may differ: {} and {}", str(a->type), str(b->type));
  return {};
}
Result<void> same_elements(V a, V b) {
  const Shape &x = a->tensor()->shape, &y = b->tensor()->shape;
  if ((!ir::is_static(x) || !ir::is_static(y)) && !(ir::numel(x) == ir::numel(y)))
    return kept("sizes known only at run time that may differ: {} and {}", str(a->type), str(b->type));
  return {};
}
Result<void> broadcasts(V a, V b) {
  const Shape &x = a->tensor()->shape, &y = b->tensor()->shape;
  for (size_t i = 1; i <= std::min(x.size(), y.size()); ++i) {
    const Dim &p = x[x.size() - i], &q = y[y.size() - i];
    if (!(p == q) && !(p == Dim(1)) && !(q == Dim(1)) && !(p.is_constant() && q.is_constant()))
      return kept("sizes known only at run time that may differ: {} and {}", p.str(), q.str());
  }
  return {};
}
Result<void> channels_known(V v) {
  if (!v->tensor()->shape.back().is_constant())
    return kept("the channels are known only at run time: {}", str(v->type));
  return {};
}
Result<void> clamp_ok(const Clamp& c) {
  if (std::isnan(c.min) || std::isnan(c.max)) return kept("a bound is NaN");
  if (!(c.min < c.max)) return kept("XNNPACK needs min < max, got {} and {}", c.min, c.max);
  return {};
}
Result<void> constant_ok(V v, const char* what) {
  if (v && !v->is_constant()) return kept("{} is not a constant", what);
  return {};
}
Result<void> rank_is(V v, size_t rank, const char* what) {
  if (v->tensor()->rank() != rank) return kept("{} has {} dims, {} are needed", what, v->tensor()->rank(), rank);
  return {};
}
Result<void> one_to_one(V in, V out, DType dtype = DType::f32) {
  EW_TRY(tensors_ok({{in, "input"}, {out, "result"}}, dtype));
  return same_shape(in, out);
}
Result<void> image_window(V x, V out, const Window& w, DType dtype = DType::f32) {
  EW_TRY(tensors_ok({{x, "input"}, {out, "result"}}, dtype));
  EW_TRY(rank_is(x, 4, "input"));
  EW_TRY(rank_is(out, 4, "result"));
  for (int i : {0, 1})
    if (w.kernel[i] == 0 || w.stride[i] == 0 || w.dilation[i] == 0) return kept("a kernel, stride or dilation of 0");
  return {};
}
// Weights, bias and scales of a product whose result is `out`.
Result<void> weights(V weight, V bias, V out) {
  const Form form = form_of(out);
  EW_TRY(tensor_ok(weight, "weight", form == Form::kFloat ? DType::f32 : DType::i8));
  EW_TRY(tensor_ok(bias, "bias", form == Form::kQuantized ? DType::i32 : DType::f32));
  EW_TRY(constant_ok(weight, "weight"));
  EW_TRY(constant_ok(bias, "bias"));
  if (form == Form::kFloat) return {};
  const ir::Node& n = *out->producer;
  const V scale = n.arg("weight_scale").value();
  EW_TRY(constant_ok(scale, "weight_scale"));
  const ir::Tensor& t = *scale->data;
  double ratio = 1;
  if (form == Form::kQuantized) ratio = attribute_of(n, "x").scale / attribute_of(n, "y").scale;
  for (int64_t i = 0; i < t.numel(); ++i) {
    IndexBuffer at{};
    for (int64_t d = static_cast<int64_t>(t.sizes.size()) - 1, rest = i; d >= 0; --d) {
      at[static_cast<size_t>(d)] = rest % t.sizes[static_cast<size_t>(d)];
      rest /= t.sizes[static_cast<size_t>(d)];
    }
    const double s = ir::load_f(t.dtype, t.data, t.offset_of(Index(at.data(), t.sizes.size())));
    if (!is_usable_scale(s)) return kept("a scale of the weight is {}", s);
    if (form == Form::kQuantized) EW_TRY(ratio_ok(ratio * s, 0x1p-32, 256));
    if (form == Form::kQuantized && !is_usable_scale(attribute_of(n, "x").scale * s))
      return kept("the scale of the bias is {}", attribute_of(n, "x").scale * s);
  }
  const ir::Arg bits = form == Form::kDynamic ? n.arg("bits") : ir::Arg(8);
  if (t.sizes.size() == 2 && n.name().starts_with("xnn.qw_"))
    return kept("floats meet no weights with scales of blocks");
  if (bias && n.name().starts_with("xnn.qw_")) return kept("XNNPACK multiplies this bias by the scale of the weights");
  if (t.sizes.size() == 2 && (*bits.i() != 4 || weight->tensor()->shape.back().value() / t.sizes[1] % 32 != 0))
    return kept("XNNPACK has blocks of weights of 4 bits, and of 32, 64, ... elements");
  return {};
}
}  // namespace

Result<void> CheckingEmitter::unary(XnnUnary op, V in, V out) {
  if (op == XnnUnary::kBankersRounding) return kept("the payload has no rounding");
  return one_to_one(in, out, computed(out));
}
// What a node clamps its result to, infinite where it does not; nullopt where that is known only at run time.
static std::optional<std::pair<double, double>> bounds_of(const ir::Node& n) {
  std::pair<double, double> b{-INFINITY, INFINITY};
  if (n.is("aten.relu")) b.first = 0;
  if (n.is("aten.relu6")) b = {0, 6};
  const ir::Schema& s = n.op().schema;
  const bool hardtanh = n.is("aten.hardtanh");
  for (const auto& [param, bound] :
       {std::pair{hardtanh ? "min_val" : "min", &b.first}, {hardtanh ? "max_val" : "max", &b.second}}) {
    if (s.index_of(param) < 0 || n.arg(param).is_none()) continue;
    const auto v = constant_number(n, param);
    if (!v) return std::nullopt;
    *bound = *v;
  }
  return b;
}

// XNNPACK joins a clamp with the bounds of the node before it by intersection, which is right only where the two meet.
Result<void> CheckingEmitter::clamp(V in, V out, Clamp c) {
  EW_TRY(clamp_ok(c));
  if (in->producer) {
    const auto before = bounds_of(*in->producer);
    if (!before || before->first > static_cast<double>(c.max) || before->second < static_cast<double>(c.min))
      return kept("the bounds of {} before it do not meet its own", in->producer->name());
  }
  return one_to_one(in, out, carried(in));
}
Result<void> CheckingEmitter::leaky_relu(V in, V out, float slope) {
  if (!std::isfinite(slope) || slope == 0) return kept("negative_slope is {}", slope);
  if (form_of(out) == Form::kQuantized) {
    const double ratio = attribute_of(*out->producer, "self").scale / attribute_of(*out->producer, "y").scale;
    EW_TRY(ratio_ok(ratio, 0x1p-8, 0x1p7));
    EW_TRY(ratio_ok(std::fabs(ratio * static_cast<double>(slope)), 0x1p-8, 0x1p6));
  }
  return one_to_one(in, out, computed(out));
}
Result<void> CheckingEmitter::elu(V in, V out, float alpha) {
  if (!(alpha > 0) || !std::isfinite(alpha)) return kept("alpha is {}", alpha);
  return one_to_one(in, out, computed(out));
}
Result<void> CheckingEmitter::binary(XnnBinary op, V a, V b, V out, Clamp c) {
  EW_TRY(clamp_ok(c));
  EW_TRY(tensors_ok({{a, "first operand"}, {b, "second operand"}, {out, "result"}}, computed(out)));
  EW_TRY(broadcasts(a, b));
  if (a->is_constant() && b->is_constant()) return kept("both operands are constants");
  if (form_of(out) != Form::kQuantized) return {};
  const ir::Node& n = *out->producer;
  const double sa = attribute_of(n, "a").scale, sb = attribute_of(n, "b").scale, sy = attribute_of(n, "y").scale;
  if (op == XnnBinary::kMultiply) return ratio_ok(sa * sb / sy, 0x1p-16, 0x1p8);
  if (op != XnnBinary::kAdd && op != XnnBinary::kSubtract) return kept("XNNPACK adds, subtracts and multiplies i8");
  EW_TRY(ratio_ok(sa / sy, 0x1p-10, 0x1p8));
  return ratio_ok(sb / sy, 0x1p-10, 0x1p8);
}
Result<void> CheckingEmitter::binary(XnnBinary, V a, float, V out, Clamp c) {
  EW_TRY(clamp_ok(c));
  EW_TRY(tensors_ok({{a, "first operand"}, {out, "result"}}));
  if (a->is_constant()) return kept("both operands are constants");
  return {};
}
Result<void> CheckingEmitter::binary(XnnBinary op, float, V b, V out, Clamp c) {
  return CheckingEmitter::binary(op, b, 0.0f, out, c);
}
V CheckingEmitter::temporary(const TensorType& t) {
  own_.emplace_back();
  own_.back().type = t;
  own_.back().name = "temporary_" + std::to_string(own_.size());
  return &own_.back();
}
V CheckingEmitter::constant_f32(std::vector<float> data, std::vector<int64_t> sizes) {
  own_.emplace_back();
  ir::Value& v = own_.back();
  ir::Tensor t = ir::Tensor::empty(DType::f32, sizes);
  EW_CHECK(static_cast<size_t>(t.numel()) == data.size());
  std::copy(data.begin(), data.end(), reinterpret_cast<float*>(t.mutable_data()));
  v.type = TensorType{DType::f32, Shape(sizes.begin(), sizes.end())};
  v.kind = ir::ValueKind::kConstant;
  v.name = "constant_" + std::to_string(own_.size());
  v.data = std::make_shared<ir::Tensor>(std::move(t));
  return &v;
}

Result<void> CheckingEmitter::fully_connected(V x, V weight, V bias, V out, bool transposed, Clamp c) {
  EW_TRY(clamp_ok(c));
  EW_TRY(tensors_ok({{x, "input"}, {out, "result"}}, computed(out)));
  EW_TRY(weights(weight, bias, out));
  if (transposed && form_of(out) == Form::kDynamic && *out->producer->arg("bits").i() == 4)
    return kept("transposed weights of 4 bits");
  EW_TRY(rank_is(weight, 2, "weight"));
  if (x->tensor()->rank() > 0) EW_TRY(channels_known(x));
  if (bias) EW_TRY(rank_is(bias, 1, "bias"));
  if (x->tensor()->rank() == 0) return kept("input has no dims");
  if (x->is_constant()) return kept("input is a constant");
  return {};
}
Result<void> CheckingEmitter::batch_matmul(V a, V b, V out) {
  EW_TRY(tensors_ok({{a, "first operand"}, {b, "second operand"}, {out, "result"}}));
  const Shape &sa = a->tensor()->shape, &sb = b->tensor()->shape;
  if (sa.size() != sb.size() || sa.size() < 2) return kept("operands of {} and {} dims", sa.size(), sb.size());
  for (size_t i = 0; i + 2 < sa.size(); ++i)
    if (!(sa[i] == sb[i])) return kept("batch dims differ: {} and {}", sa[i].str(), sb[i].str());
  if (!(sa.back() == sb[sb.size() - 2]))
    return kept("sizes known only at run time that may differ: {} and {}", sa.back().str(), sb[sb.size() - 2].str());
  if (a->is_constant() && b->is_constant()) return kept("both operands are constants");
  return {};
}
Result<void> CheckingEmitter::conv2d(V x, V weight, V bias, V out, const Window& w, uint32_t groups, Clamp c) {
  EW_TRY(clamp_ok(c));
  EW_TRY(image_window(x, out, w, computed(out)));
  EW_TRY(weights(weight, bias, out));
  EW_TRY(channels_known(x));
  if (form_of(out) == Form::kDynamic && *out->producer->arg("bits").i() != 8)
    return kept("a convolution of 4-bit weights");
  return rank_is(weight, 4, "weight");
}
Result<void> CheckingEmitter::depthwise_conv2d(V x, V weight, V bias, V out, const Window& w, uint32_t, uint32_t,
                                               Clamp c) {
  return CheckingEmitter::conv2d(x, weight, bias, out, w, 1,
                                 c);  // qualified: the check alone, not what a derived emitter adds
}
Result<void> CheckingEmitter::deconv2d(V x, V weight, V bias, V out, const Window& w, uint32_t groups, Clamp c) {
  return CheckingEmitter::conv2d(x, weight, bias, out, w, groups, c);
}
Result<void> CheckingEmitter::max_pool2d(V x, V out, const Window& w, Clamp c) {
  EW_TRY(clamp_ok(c));
  EW_TRY(image_window(x, out, w, carried(x)));
  if (carried(x) == DType::i8 && (c.min != -INFINITY || c.max != INFINITY)) return kept("a bounded pooling of i8");
  if (w.kernel[0] * w.kernel[1] == 1) return kept("a pooling window of one element");
  for (int i : {0, 1})
    if (w.stride[i] > w.kernel[i])
      return kept("stride {} is larger than the window {}", w.stride[i], w.kernel[i]);  // xnn_create_max_pooling2d_nhwc
  // XNNPACK pads by repeating the border, which a dilated window need not contain; dilated along one dim and padded along the
  // other it reads beside the image, too.
  if ((w.dilation[0] > 1 || w.dilation[1] > 1) && (w.pad_top || w.pad_bottom || w.pad_left || w.pad_right))
    return kept("a dilated window over padding");
  return {};
}
Result<void> CheckingEmitter::avg_pool2d(V x, V out, const Window& w, Clamp c) {
  EW_TRY(clamp_ok(c));
  EW_TRY(image_window(x, out, w));
  if (w.kernel[0] * w.kernel[1] == 1) return kept("a pooling window of one element");
  if (w.dilation[0] != 1 || w.dilation[1] != 1) return kept("average pooling with dilation");
  return {};
}
Result<void> CheckingEmitter::argmax_pool2d(V, V, V, const Window&) {
  return kept("XNNPACK's arg-max pooling numbers elements within the window, PyTorch within the image");
}
Result<void> CheckingEmitter::global_avg_pool2d(V x, V out, Clamp c) {
  EW_TRY(clamp_ok(c));
  if (form_of(out) == Form::kQuantized) {
    const double area = static_cast<double>(x->tensor()->rank() == 4 && ir::is_static(x->tensor()->shape)
                                                ? x->tensor()->shape[1].value() * x->tensor()->shape[2].value()
                                                : 1);
    EW_TRY(ratio_ok(attribute_of(*out->producer, "x").scale / attribute_of(*out->producer, "y").scale / area, 0x1p-32,
                    256));
  }
  return image_window(x, out, Window{}, computed(out));
}
Result<void> CheckingEmitter::resize_bilinear2d(V x, V out, int64_t, int64_t, bool align_corners, bool half_pixel) {
  if (align_corners && half_pixel) return kept("align_corners with half-pixel centers");
  return image_window(x, out, Window{});
}
Result<void> CheckingEmitter::depth_to_space(V, V, uint32_t) { return kept("the payload has no depth-to-space"); }
Result<void> CheckingEmitter::softmax(V in, V out) {
  EW_TRY(one_to_one(in, out));
  if (in->tensor()->rank() == 0) return kept("input has no dims");
  return {};
}
Result<void> CheckingEmitter::static_transpose(V in, V out, std::vector<int64_t> perm) {
  EW_TRY(tensors_ok({{in, "input"}, {out, "result"}}, carried(in)));
  if (perm.empty()) return kept("input has no dims");
  return {};
}
Result<void> CheckingEmitter::static_reshape(V in, V out, const Shape& sizes) {
  EW_TRY(tensors_ok({{in, "input"}, {out, "result"}}, carried(in)));
  if (std::count_if(sizes.begin(), sizes.end(), [](const Dim& d) { return !d.is_constant(); }) > 1)
    return kept("XNNPACK's reshape derives one size at run time, not several: {}", str(out->type));
  return same_elements(in, out);
}
Result<void> CheckingEmitter::static_slice(V in, V out, std::vector<int64_t> offsets, std::vector<int64_t> sizes) {
  EW_TRY(tensors_ok({{in, "input"}, {out, "result"}}, carried(in)));
  if (offsets.empty()) return kept("input has no dims");
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] == 0 && offsets[d] != 0) return kept("a slice from {} to an end known only at run time", offsets[d]);
  return {};
}
Result<void> CheckingEmitter::static_constant_pad(V in, V out, std::vector<int64_t> pre, std::vector<int64_t> post,
                                                  float) {
  EW_TRY(tensors_ok({{in, "input"}, {out, "result"}}, carried(in)));
  for (const auto& side : {pre, post})
    for (int64_t n : side)
      if (n < 0) return kept("a negative padding");
  if (pre.empty()) return kept("input has no dims");
  return {};
}
Result<void> CheckingEmitter::concatenate(std::vector<V> in, V out, int64_t axis) {
  EW_TRY(tensor_ok(out, "result", carried(out)));
  for (V v : in) {
    EW_TRY(tensor_ok(v, "an operand", carried(out)));
    for (size_t d = 0; d < v->tensor()->rank(); ++d) {
      const Dim &p = v->tensor()->shape[d], &q = in[0]->tensor()->shape[d];
      if (d != static_cast<size_t>(axis) && !(p == q))
        return kept("sizes known only at run time that may differ: {} and {}", p.str(), q.str());
    }
  }
  if (in.size() < 2) return kept("{} operands", in.size());
  return {};
}
Result<void> CheckingEmitter::copy(V in, V out) {
  if (out->producer && out->producer->is("aten._to_copy") && in->tensor()->dtype != out->tensor()->dtype) {
    EW_TRY(tensor_ok(in, "input", halved(in)));
    EW_TRY(tensor_ok(out, "result", halved(out)));
    return same_shape(in, out);
  }
  if (!out->producer || (!quantizes(*out->producer) && !dequantizes(*out->producer)))
    return one_to_one(in, out, carried(in));
  EW_TRY(tensor_ok(in, "input", carried(in)));
  EW_TRY(tensor_ok(out, "result", carried(out)));
  return same_shape(in, out);
}
Result<void> CheckingEmitter::even_split(V, std::vector<V>, int64_t) { return kept("the payload has no split"); }

bool xnn_takes(const ir::Node& n, std::string* reason) {
  const OpDef* d = def(n);
  if (!d || !d->lower) {
    if (reason) *reason = d ? "XNNPACK has no node for " + n.name() : "unknown op " + n.name();
    return false;
  }
  for (const ir::Value* v : n.inputs())
    if (v->scalar()) {
      if (reason) *reason = "an argument is a number known only at run time";
      return false;
    }
  CheckingEmitter e;
  const auto r = d->lower(n, e);
  if (!r && reason) *reason = r.error().message;
  return r.has_value();
}

}  // namespace edgewright::ops
