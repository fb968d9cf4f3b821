// src/ops/convolution.cc - aten.convolution and the forms that reduce to it: conv1d/2d/3d (also with named padding),
// conv_transpose1d/2d/3d, _convolution.
#include "ops/view_rules.h"
#include "ops/windows.h"

namespace edgewright::ops {
namespace {

// A call of any of these ops, with its arguments in one form.
struct Conv {
  size_t spatial = 0;
  bool transposed = false, batched = true;
  std::vector<int64_t> stride, before, after, dilation, output_padding;  // padding before and after
  int64_t groups = 1;
};

// `spatial` is 0 where the op serves every rank. Records errors.
Conv read(const Call& c, size_t spatial, bool transposed) {
  Conv r;
  const TensorType &x = c.tensor("input"), &w = c.tensor("weight");
  const auto& schema = c.op().schema;
  if (w.rank() < 3 || w.rank() > 5) c.error(fmt::format("[convolution.1] weight has rank {}", w.rank()));
  if (c.failed()) return r;
  r.spatial = w.rank() - 2;
  if (spatial != 0 && spatial != r.spatial) c.error(fmt::format("[convolution.1] weight has rank {}", w.rank()));
  r.batched = spatial == 0 || x.rank() == w.rank();
  if (x.rank() + (r.batched ? 0 : 1) != w.rank())
    c.error(fmt::format("[convolution.2] input has rank {}, weight {}", x.rank(), w.rank()));
  r.transposed = schema.index_of("transposed") >= 0 ? c.flag("transposed") : transposed;
  r.stride = spatial_ints(c, "stride", r.spatial);
  r.dilation = spatial_ints(c, "dilation", r.spatial);
  r.output_padding = schema.index_of("output_padding") >= 0 ? spatial_ints(c, "output_padding", r.spatial)
                                                            : std::vector<int64_t>(r.spatial, 0);
  r.groups = c.i("groups");
  if (r.groups < 1) c.error("[convolution.3] groups must be positive");
  for (size_t d = 0; d < r.spatial; ++d)
    if (r.stride[d] < 1 || r.dilation[d] < 1 || r.output_padding[d] < 0)
      c.error("[convolution.3] stride and dilation must be positive");
  if (c.failed()) return r;
  if (c.raw("padding").s()) {
    const std::string mode = c.str("padding");
    r.before.assign(r.spatial, 0);
    r.after.assign(r.spatial, 0);
    if (mode == "same") {
      for (size_t d = 0; d < r.spatial; ++d) {
        if (r.stride[d] != 1) c.error("[convolution.4] padding='same' needs stride 1");
        if (!w.shape[2 + d].is_constant()) {
          c.error("[convolution.4] padding='same' needs a known kernel size");
          continue;
        }
        const int64_t total = r.dilation[d] * (w.shape[2 + d].value() - 1);
        r.before[d] = total / 2;
        r.after[d] = total - total / 2;
      }
    } else if (mode != "valid") {
      c.error(fmt::format("[convolution.4] padding '{}'", mode));
    }
  } else {
    r.before = r.after = spatial_ints(c, "padding", r.spatial);
    for (int64_t p : r.before)
      if (p < 0) c.error("[convolution.3] padding must not be negative");
  }
  return r;
}

Result<Types> rule(const Call& c, size_t spatial, bool transposed) {
  const Conv v = read(c, spatial, transposed);
  if (c.failed()) return Types{};
  const TensorType &x = c.tensor("input"), &w = c.tensor("weight");
  if (x.dtype != w.dtype) c.error(fmt::format("[convolution.5] input is {}, weight {}", name(x.dtype), name(w.dtype)));
  if (!is_float(x.dtype) && !is_int(x.dtype)) c.error(fmt::format("[convolution.5] input is {}", name(x.dtype)));
  const size_t channel = v.batched ? 1 : 0;
  const Dim in_channels = v.transposed ? w.shape[0] : w.shape[1] * Dim(v.groups);
  const Dim out_channels = v.transposed ? w.shape[1] * Dim(v.groups) : w.shape[0];
  if (differ(x.shape[channel], in_channels))
    c.error(fmt::format("[convolution.6] input has {} channels, weight and groups say {}", x.shape[channel].str(),
                        in_channels.str()));
  if (w.shape[0].is_constant() && w.shape[0].value() % v.groups != 0)
    c.error("[convolution.6] channels are not a multiple of groups");
  if (c.has("bias")) {
    const TensorType& b = c.tensor("bias");
    if (b.rank() != 1 || differ(b.shape[0], out_channels))
      c.error("[convolution.7] bias must have one element per output channel");
    if (b.dtype != x.dtype) c.error("[convolution.7] bias has another dtype");
  }
  Shape out;
  if (v.batched) out.push_back(x.shape[0]);
  out.push_back(out_channels);
  for (size_t d = 0; d < v.spatial; ++d) {
    const Dim &i = x.shape[channel + 1 + d], &k = w.shape[2 + d];
    const Dim o = v.transposed ? (i - Dim(1)) * Dim(v.stride[d]) - Dim(v.before[d] + v.after[d]) +
                                     Dim(v.dilation[d]) * (k - Dim(1)) + Dim(v.output_padding[d] + 1)
                               : window_output(i, k, v.stride[d], v.before[d], v.after[d], v.dilation[d]);
    if (o.is_constant() && o.value() < (v.transposed ? 0 : 1))
      c.error("[convolution.8] the kernel is larger than the padded input");
    out.push_back(o);
  }
  return Types{TensorType{x.dtype, out}};
}

Convolution make(const Call& c, size_t spatial, bool transposed, const Shape& out) {
  const Conv v = read(c, spatial, transposed);
  Convolution r;
  if (c.failed()) return r;
  const TensorType &x = c.tensor("input"), &w = c.tensor("weight");
  r.groups = v.groups;
  r.batched = v.batched;
  r.input = c.operand("input");
  r.weight = c.operand("weight");
  r.bias = c.operand("bias");
  r.weight_layout = v.transposed ? Convolution::Weight::kInOut : Convolution::Weight::kOutIn;
  r.in_per_group = v.transposed ? w.shape[0].value() / v.groups : w.shape[1].value();
  r.out_per_group = v.transposed ? w.shape[1].value() : w.shape[0].value() / v.groups;
  const size_t at = v.batched ? 2 : 1;
  for (size_t d = 0; d < v.spatial; ++d)
    r.axes.push_back({x.shape[at + d].value(), out[at + d].value(), w.shape[2 + d].value(), v.stride[d], v.before[d],
                      v.dilation[d], v.transposed});
  return r;
}

Shape result_shape(const Call& c, size_t spatial, bool transposed) {
  const auto t = rule(c, spatial, transposed);
  return t && !t->empty() ? std::get<TensorType>((*t)[0]).shape : Shape{};
}

// The same convolution as aten.convolution.
Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b, size_t spatial, bool transposed) {
  const Call c = Call::of(n);
  const Conv v = read(c, spatial, transposed);
  if (c.failed()) return fail(Code::kInternal, "{}: {}", n.name(), *c.failed());
  ir::Value* x = n.arg("input").value();
  if (v.before != v.after) {  // one row or column more at the end
    std::vector<int64_t> pad;
    for (size_t d = v.spatial; d-- > 0;) {
      pad.push_back(0);
      pad.push_back(v.after[d] - v.before[d]);
    }
    x = b("aten.constant_pad_nd", {x, ir::Arg::ints(pad), 0});
  }
  if (!v.batched) x = b("aten.unsqueeze", {x, 0});
  ir::Value* y =
      b("aten.convolution", {x, n.arg("weight"), n.arg("bias"), ir::Arg::ints(v.stride), ir::Arg::ints(v.before),
                             ir::Arg::ints(v.dilation), v.transposed, ir::Arg::ints(v.output_padding), v.groups});
  if (!v.batched) y = b("aten.squeeze.dim", {y, 0});
  return b.done({y});
}

// Over three dims: the sum, over the kernel's depth, of convolutions of planes. Forward, slice k of the kernel meets the planes
// that lie `stride` apart from k * dilation on; transposed, it gives the planes that lie so in the result.
Result<std::vector<ir::Value*>> in_planes(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const Conv v = read(c, 0, false);
  const Shape &s = c.tensor("input").shape, &ws = c.tensor("weight").shape, &to = n.result()->tensor()->shape;
  if (c.failed() || v.spatial != 3 || !ir::is_static(s) || !ir::is_static(ws) || c.tensor("input").dtype != DType::f32)
    return std::vector<ir::Value*>{};
  // XNNPACK wants it constant; and 0 * NaN would come in from the padding.
  if (!n.arg("weight").value()->is_constant()) return std::vector<ir::Value*>{};
  const int64_t depth = s[2].value(), out_depth = to[2].value(), stride = v.stride[0], before = v.before[0];
  const auto last2 = [](const std::vector<int64_t>& a) { return ir::Arg::ints({a[1], a[2]}); };
  const ir::Arg swap = ir::Arg::ints({0, 2, 1, 3, 4});
  const auto pad_depth = [&](ir::Value* x, int64_t front, int64_t back) {  // of [n, d, c, h, w]
    return front == 0 && back == 0 ? x
                                   : b("aten.constant_pad_nd", {x, ir::Arg::ints({0, 0, 0, 0, 0, 0, front, back}), 0});
  };
  ir::Value* x = b("aten.permute", {n.arg("input"), swap});
  if (!v.transposed) x = pad_depth(x, before, before);
  const int64_t planes = v.transposed ? depth : out_depth;  // of one convolution
  ir::Value* sum = nullptr;
  for (int64_t k = 0; k < ws[2].value(); ++k) {
    const int64_t start = k * v.dilation[0];
    ir::Value* y = x;
    if (!v.transposed) y = b("aten.slice.Tensor", {y, 1, start, start + (planes - 1) * stride + 1, stride});
    y = b("aten.view", {y, ir::Arg::ints({s[0].value() * planes, s[1].value(), s[3].value(), s[4].value()})});
    y = b("aten.convolution",
          {y, b("aten.select.int", {n.arg("weight"), 2, k}), sum || v.transposed ? ir::Arg() : n.arg("bias"),
           last2(v.stride), last2(v.before), last2(v.dilation), v.transposed,
           v.transposed ? last2(v.output_padding) : ir::Arg::ints({0, 0}), v.groups});
    y = b("aten.view", {y, ir::Arg::ints({to[0].value(), planes, to[1].value(), to[3].value(), to[4].value()})});
    if (v.transposed) {
      if (stride > 1) {  // planes of zeros between
        y = b("aten.unsqueeze", {y, 2});
        y = b("aten.constant_pad_nd", {y, ir::Arg::ints({0, 0, 0, 0, 0, 0, 0, stride - 1}), 0});
        y = b("aten.view",
              {y, ir::Arg::ints({to[0].value(), planes * stride, to[1].value(), to[3].value(), to[4].value()})});
      }
      const int64_t front = start - before;
      y = pad_depth(y, front, out_depth - front - planes * stride);
    }
    sum = sum ? b("aten.add.Tensor", {sum, y}) : y;
  }
  if (v.transposed && n.arg("bias").value())
    sum = b("aten.add.Tensor", {sum, b("aten.view", {n.arg("bias"), ir::Arg::ints({-1, 1, 1})})});
  return b.done({b("aten.permute", {sum, swap})});
}

OpDef definition(std::string schema, size_t spatial, bool transposed) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = [=](const Call& c) { return rule(c, spatial, transposed); };
  d.eval = [=](const Call& c, size_t) -> Result<Point> {
    return convolution_point(c.tensor("input").dtype,
                             make(c, spatial, transposed, result_shape(c, spatial, transposed)));
  };
  d.whole = [=](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    Shape s(out[0].sizes.begin(), out[0].sizes.end());
    convolution_whole(make(c, spatial, transposed, s), in, out[0]);
    return {};
  };
  if (d.schema_text.starts_with("aten::convolution(")) {
    d.stock = "aten::convolution.out";
    d.stock_limit = [](const ir::Node& n) {
      return n.result()->tensor()->rank() > 4 ? std::string("the stock kernel convolves over one or two dims")
                                              : std::string();
    };
    d.decompose = in_planes;
  } else {
    d.decompose = [=](const ir::Node& n, Builder& b) { return decompose(n, b, spatial, transposed); };
  }
  d.agreement = Agreement::kReassociated;
  return d;
}

}  // namespace

std::vector<OpDef> define_convolution() {
  std::vector<OpDef> all{definition("aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
                                    "SymInt[] padding, SymInt[] dilation, bool transposed, "
                                    "SymInt[] output_padding, SymInt groups) -> Tensor",
                                    0, false),
                         definition("aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
                                    "SymInt[] padding, SymInt[] dilation, bool transposed, "
                                    "SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool "
                                    "cudnn_enabled, bool allow_tf32) -> Tensor",
                                    0, false)};
  for (size_t d = 1; d <= 3; ++d) {
    const auto ones = [&](int x) { return fmt::format("[{}]", fmt::join(std::vector<int>(d, x), ", ")); };
    const std::string head =
        fmt::format("Tensor input, Tensor weight, Tensor? bias=None, SymInt[{}] stride={}, ", d, ones(1));
    const std::string tail = fmt::format("SymInt[{}] dilation={}", d, ones(1));
    all.push_back(definition(
        fmt::format("aten::conv{}d({}SymInt[{}] padding={}, {}, SymInt groups=1) -> Tensor", d, head, d, ones(0), tail),
        d, false));
    all.push_back(definition(
        fmt::format("aten::conv{}d.padding({}str padding=\"valid\", {}, SymInt groups=1) -> Tensor", d, head, tail), d,
        false));
    all.push_back(definition(fmt::format("aten::conv_transpose{}d{}({}SymInt[{}] padding={}, SymInt[{}] "
                                         "output_padding={}, SymInt groups=1, {}) -> Tensor",
                                         d, d == 1 ? "" : ".input", head, d, ones(0), d, ones(0), tail),
                             d, true));
  }
  return all;
}
}  // namespace edgewright::ops
