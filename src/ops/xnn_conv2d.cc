// src/ops/xnn_conv2d.cc - xnn.conv2d, xnn.depthwise_conv2d, xnn.deconv2d: XNNPACK's convolutions as they are, NHWC with weights
// [o, kh, kw, i/groups] (depthwise: [1, kh, kw, c * multiplier]) and a clamp.
#include "ops/xnn_quant.h"
#include "ops/xnn_window.h"

namespace edgewright::ops {
namespace {

enum class Kind : uint8_t { kConv, kDepthwise, kTransposed };

// Everything that the rule, the evaluation and the lowering need.
struct Conv {
  Window window;
  Clamp clamp;
  Dim groups = 1, in_per_group = 1, out_channels = 1;
  std::array<Dim, 2> size;
};

Conv read(Kind k, const Call& c) {
  Conv r;
  const TensorType &x = c.tensor("x"), &w = c.tensor("weight");
  if (x.rank() != 4 || w.rank() != 4) c.error("[xnn_conv2d.1] x and weight must have rank 4");
  if (c.failed()) return r;
  if (!is_quantized(c) && (!is_float(x.dtype) || x.dtype != w.dtype))
    c.error(fmt::format("[xnn_conv2d.2] x is {}, weight {}", name(x.dtype), name(w.dtype)));
  if (!w.shape[1].is_constant() || !w.shape[2].is_constant()) {
    c.error("[xnn_conv2d.3] the kernel size is known only at run time");
    return r;
  }
  r.window = window_of(c, w.shape[1].value(), w.shape[2].value());
  r.clamp = clamp_of(c);
  r.size = window_result(c, r.window, x.shape[1], x.shape[2], k == Kind::kTransposed);
  if (k == Kind::kDepthwise) {
    r.groups = x.shape[3];
    r.out_channels = w.shape[3];
    if (differ(w.shape[0], 1)) c.error("[xnn_conv2d.4] a depthwise weight begins with 1");
    if (r.groups.is_constant() && r.out_channels.is_constant() &&
        (r.groups.value() < 1 || r.out_channels.value() % r.groups.value() != 0))
      c.error("[xnn_conv2d.5] channels do not fit");
  } else {
    const int64_t groups = c.i("groups");
    if (groups < 1) {
      c.error("[xnn_conv2d.5] groups must be positive");
      return r;
    }
    r.groups = groups;
    r.in_per_group = w.shape[3];
    r.out_channels = w.shape[0];
    if (differ(r.in_per_group * r.groups, x.shape[3]) || (w.shape[0].is_constant() && w.shape[0].value() % groups != 0))
      c.error("[xnn_conv2d.5] channels do not fit");
  }
  if (c.has("bias")) {
    const TensorType& b = c.tensor("bias");
    if (b.rank() != 1 || differ(b.shape[0], r.out_channels) || (!is_quantized(c) && b.dtype != x.dtype))
      c.error("[xnn_conv2d.6] bias must have one element per output channel");
  }
  return r;
}

Result<Types> rule(Kind k, const Call& c) {
  const Conv r = read(k, c);
  return Types{TensorType{
      c.type(0).dtype, {c.type(0).shape.empty() ? Dim(0) : c.type(0).shape[0], r.size[0], r.size[1], r.out_channels}}};
}

Convolution make(Kind k, const Call& c) {
  const Conv r = read(k, c);
  Convolution v;
  if (c.failed()) return v;
  v.axes = window_axes(r.window, c.type(0).shape, r.size, k == Kind::kTransposed);
  v.groups = r.groups.value();
  v.in_per_group = r.in_per_group.value();
  v.out_per_group = r.out_channels.value() / v.groups;
  v.weight_layout = k == Kind::kDepthwise ? Convolution::Weight::kSpatialOut : Convolution::Weight::kOutSpatialIn;
  v.channels_last = true;
  v.input = c.operand("x");
  v.weight = c.operand("weight");
  v.bias = c.operand("bias");
  v.min = static_cast<double>(r.clamp.min);
  v.max = static_cast<double>(r.clamp.max);
  return v;
}

Result<void> lower(Kind k, const ir::Node& n, XnnEmitter& out) {
  const Call c = Call::of(n);
  const Conv r = read(k, c);
  if (c.failed()) return fail(Code::kKeptOnHost, "{}", *c.failed());
  const ir::Value *x = n.arg("x").value(), *w = n.arg("weight").value(), *b = n.arg("bias").value();
  if (!r.groups.is_constant() || !r.out_channels.is_constant())
    return fail(Code::kKeptOnHost, "the channels are known only at run time");
  const auto groups = static_cast<uint32_t>(r.groups.value());
  switch (k) {
    case Kind::kConv: return out.conv2d(x, w, b, n.result(), r.window, groups, r.clamp);
    case Kind::kDepthwise:
      return out.depthwise_conv2d(x, w, b, n.result(), r.window, groups,
                                  static_cast<uint32_t>(r.out_channels.value()) / groups, r.clamp);
    case Kind::kTransposed: return out.deconv2d(x, w, b, n.result(), r.window, groups, r.clamp);
  }
  return {};
}

OpDef definition(std::string schema, Kind k) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = [k](const Call& c) { return rule(k, c); };
  d.eval = [k](const Call& c, size_t) -> Result<Point> { return convolution_point(c.type(0).dtype, make(k, c)); };
  d.whole = [k](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const Convolution v = make(k, c);
    if (!c.failed()) convolution_whole(v, in, out[0]);
    return {};
  };
  d.lower = [k](const ir::Node& n, XnnEmitter& out) { return lower(k, n, out); };
  d.agreement = Agreement::kReassociated;
  return d;
}

}  // namespace

std::vector<OpDef> define_xnn_conv2d() {
  const std::string conv =
      "xnn::conv2d(Tensor x, Tensor weight, Tensor? bias, int[2] stride, int[4] padding, int[2] dilation, int groups, "
      "float min=-inf, float max=inf) -> Tensor";
  const std::string depthwise =
      "xnn::depthwise_conv2d(Tensor x, Tensor weight, Tensor? bias, int[2] stride, int[4] padding, int[2] dilation, "
      "float min=-inf, float max=inf) -> Tensor";
  const std::string transposed =
      "xnn::deconv2d(Tensor x, Tensor weight, Tensor? bias, int[2] stride, int[4] padding, int[2] dilation, int[2] "
      "output_padding, int groups, float min=-inf, float max=inf) -> Tensor";
  return {definition(conv, Kind::kConv),
          definition(depthwise, Kind::kDepthwise),
          definition(transposed, Kind::kTransposed),
          quantized("xnn::q_conv2d", conv),
          quantized("xnn::q_depthwise_conv2d", depthwise),
          quantized("xnn::q_deconv2d", transposed),
          dynamic("xnn::qd_conv2d", conv),
          dynamic("xnn::qd_deconv2d", transposed)};
}
}  // namespace edgewright::ops
