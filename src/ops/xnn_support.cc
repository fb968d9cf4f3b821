#include "ops/xnn_support.h"

#include <algorithm>

namespace edgewright::ops {

namespace {
using V = const ir::Value*;
constexpr size_t kMaxDims = 6;  // XNN_MAX_TENSOR_DIMS

template <class... A>
std::unexpected<Error> kept(FormatAt<std::type_identity_t<A>...> f, A&&... a) {
  return fail(Code::kKeptOnHost, f, std::forward<A>(a)...);
}

// What holds for every tensor in a payload: f32, rank within bounds, no empty dims. Sizes may be symbolic: XNNPACK derives them anew from
// its inputs' sizes, by the same rules as ours.
Result<void> tensor_ok(V v, const char* what) {
  if (!v) return {};
  const TensorType* t = v->tensor();
  if (!t) return kept("{} is not a tensor", what);
  if (t->dtype != DType::f32) return kept("{} is {}; XNNPACK computes f32", what, name(t->dtype));
  if (t->rank() > kMaxDims) return kept("{} has {} dims; XNNPACK takes up to {}", what, t->rank(), kMaxDims);
  for (const Dim& d : t->shape) {
    if (d == Dim(0)) return kept("{} is empty", what);
    if (d.maybe().value_or(1) > UINT32_MAX) return kept("{} is too large", what);
  }
  return {};
}
Result<void> tensors_ok(std::initializer_list<std::pair<V, const char*>> vs) {
  for (const auto& [v, what] : vs) EW_TRY(tensor_ok(v, what));
  return {};
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
Result<void> one_to_one(V in, V out) {
  EW_TRY(tensors_ok({{in, "input"}, {out, "result"}}));
  return same_shape(in, out);
}
Result<void> image_window(V x, V out, const Window& w) {
  EW_TRY(tensors_ok({{x, "input"}, {out, "result"}}));
  EW_TRY(rank_is(x, 4, "input"));
  EW_TRY(rank_is(out, 4, "result"));
  for (int i : {0, 1})
    if (w.kernel[i] == 0 || w.stride[i] == 0 || w.dilation[i] == 0) return kept("a kernel, stride or dilation of 0");
  return {};
}
Result<void> weights(V weight, V bias) {
  EW_TRY(tensors_ok({{weight, "weight"}, {bias, "bias"}}));
  EW_TRY(constant_ok(weight, "weight"));
  return constant_ok(bias, "bias");
}
}  // namespace

Result<void> CheckingEmitter::unary(XnnUnary op, V in, V out) {
  if (op == XnnUnary::kBankersRounding) return kept("the payload has no rounding");
  return one_to_one(in, out);
}
Result<void> CheckingEmitter::clamp(V in, V out, Clamp c) {
  EW_TRY(clamp_ok(c));
  return one_to_one(in, out);
}
Result<void> CheckingEmitter::leaky_relu(V in, V out, float slope) {
  if (!std::isfinite(slope) || slope == 0) return kept("negative_slope is {}", slope);
  return one_to_one(in, out);
}
Result<void> CheckingEmitter::elu(V in, V out, float alpha) {
  if (!(alpha > 0) || !std::isfinite(alpha)) return kept("alpha is {}", alpha);
  return one_to_one(in, out);
}
Result<void> CheckingEmitter::binary(XnnBinary op, V a, V b, V out, Clamp c) {
  EW_TRY(clamp_ok(c));
  EW_TRY(tensors_ok({{a, "first operand"}, {b, "second operand"}, {out, "result"}}));
  EW_TRY(broadcasts(a, b));
  if (a->is_constant() && b->is_constant()) return kept("both operands are constants");
  return {};
}
Result<void> CheckingEmitter::binary(XnnBinary, V a, float, V out, Clamp c) {
  EW_TRY(clamp_ok(c));
  return tensors_ok({{a, "first operand"}, {out, "result"}});
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

Result<void> CheckingEmitter::fully_connected(V x, V weight, V bias, V out, bool, Clamp c) {
  EW_TRY(clamp_ok(c));
  EW_TRY(tensors_ok({{x, "input"}, {out, "result"}}));
  EW_TRY(weights(weight, bias));
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
  if (a->is_constant()) return kept("first operand is a constant");
  return {};
}
Result<void> CheckingEmitter::conv2d(V x, V weight, V bias, V out, const Window& w, uint32_t groups, Clamp c) {
  EW_TRY(clamp_ok(c));
  EW_TRY(image_window(x, out, w));
  EW_TRY(weights(weight, bias));
  EW_TRY(channels_known(x));
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
  EW_TRY(image_window(x, out, w));
  if (w.kernel[0] * w.kernel[1] == 1) return kept("a pooling window of one element");
  for (int i : {0, 1})
    if (w.stride[i] > w.kernel[i])
      return kept("stride {} is larger than the window {}", w.stride[i], w.kernel[i]);  // xnn_create_max_pooling2d_nhwc
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
  return image_window(x, out, Window{});
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
  EW_TRY(tensors_ok({{in, "input"}, {out, "result"}}));
  if (perm.empty()) return kept("input has no dims");
  return {};
}
Result<void> CheckingEmitter::static_reshape(V in, V out, const Shape& sizes) {
  EW_TRY(tensors_ok({{in, "input"}, {out, "result"}}));
  if (std::count_if(sizes.begin(), sizes.end(), [](const Dim& d) { return !d.is_constant(); }) > 1)
    return kept("XNNPACK's reshape derives one size at run time, not several: {}", str(out->type));
  return same_elements(in, out);
}
Result<void> CheckingEmitter::static_slice(V in, V out, std::vector<int64_t> offsets, std::vector<int64_t> sizes) {
  EW_TRY(tensors_ok({{in, "input"}, {out, "result"}}));
  if (offsets.empty()) return kept("input has no dims");
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] == 0 && offsets[d] != 0) return kept("a slice from {} to an end known only at run time", offsets[d]);
  return {};
}
Result<void> CheckingEmitter::static_constant_pad(V in, V out, std::vector<int64_t> pre, std::vector<int64_t> post,
                                                  float) {
  EW_TRY(tensors_ok({{in, "input"}, {out, "result"}}));
  for (const auto& side : {pre, post})
    for (int64_t n : side)
      if (n < 0) return kept("a negative padding");
  if (pre.empty()) return kept("input has no dims");
  return {};
}
Result<void> CheckingEmitter::concatenate(std::vector<V> in, V out, int64_t axis) {
  EW_TRY(tensor_ok(out, "result"));
  for (V v : in) {
    EW_TRY(tensor_ok(v, "an operand"));
    for (size_t d = 0; d < v->tensor()->rank(); ++d) {
      const Dim &p = v->tensor()->shape[d], &q = in[0]->tensor()->shape[d];
      if (d != static_cast<size_t>(axis) && !(p == q))
        return kept("sizes known only at run time that may differ: {} and {}", p.str(), q.str());
    }
  }
  if (in.size() < 2) return kept("{} operands", in.size());
  return {};
}
Result<void> CheckingEmitter::copy(V in, V out) { return one_to_one(in, out); }
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
