#include "lower/xnn_lower.h"

#include <algorithm>
#include <unordered_map>

#include "ops/xnn_support.h"

namespace edgewright::lower {

using ops::Clamp;
using ops::Window;
using ops::XnnBinary;
using ops::XnnUnary;
using xnn::NodeKind;

namespace {

// Flags of xnnpack.h that the payload passes through.
constexpr uint32_t kFlagTransposeWeights = 0x1;
constexpr uint32_t kFlagTensorflowLegacyMode = 0x4;
constexpr uint32_t kFlagAlignCorners = 0x8;
constexpr uint32_t kFlagKeepDims = 0x40;  // else a reduction's or pooling's output may lose dims

std::vector<uint32_t> u32s(const std::vector<int64_t>& v) { return {v.begin(), v.end()}; }

class PayloadEmitter final : public ops::CheckingEmitter {
 public:
  using Base = ops::CheckingEmitter;
  LoweredDelegate out;

  explicit PayloadEmitter(const ir::SymbolRanges& ranges) : ranges_(ranges) { out.graph.constants.emplace_back(); }

  // The next external value of the delegate: all inputs come before the first output.
  void external(V v, uint32_t flags) { make_external(id_of(v), flags); }

  Result<void> unary(XnnUnary op, V in, V y) override {
    EW_TRY(Base::unary(op, in, y));
    switch (op) {
      case XnnUnary::kAbs: return node1(NodeKind::kAbs, in, y);
      case XnnUnary::kBankersRounding: break;  // refused above
      case XnnUnary::kCeiling: return node1(NodeKind::kCeiling, in, y);
      case XnnUnary::kFloor: return node1(NodeKind::kFloor, in, y);
      case XnnUnary::kNegate: return node1(NodeKind::kNegate, in, y);
      case XnnUnary::kSquare: return node1(NodeKind::kSquare, in, y);
      case XnnUnary::kSquareRoot: return node1(NodeKind::kSquareRoot, in, y);
      case XnnUnary::kReciprocalSquareRoot: return node1(NodeKind::kReciprocalSquareRoot, in, y);
      case XnnUnary::kSigmoid: return node1(NodeKind::kSigmoid, in, y);
      case XnnUnary::kHardswish: return node1(NodeKind::kHardswish, in, y);
      case XnnUnary::kTanh: return node1(NodeKind::kTanh, in, y);
      case XnnUnary::kExp: return node1(NodeKind::kExp, in, y);
      case XnnUnary::kLog: return node1(NodeKind::kLog, in, y);
      case XnnUnary::kGelu: return node1(NodeKind::kGelu, in, y);
      case XnnUnary::kSin: return node1(NodeKind::kSin, in, y);
      case XnnUnary::kCos: return node1(NodeKind::kCos, in, y);
    }
    return fail(Code::kInternal, "unknown unary");
  }
  Result<void> clamp(V in, V y, Clamp c) override {
    EW_TRY(Base::clamp(in, y, c));
    return node1(NodeKind::kClamp, in, y, c);
  }
  Result<void> leaky_relu(V in, V y, float slope) override {
    EW_TRY(Base::leaky_relu(in, y, slope));
    EW_TRY(node1(NodeKind::kLeakyRelu, in, y));
    out.graph.nodes.back().value = slope;
    return {};
  }
  Result<void> elu(V in, V y, float alpha) override {
    EW_TRY(Base::elu(in, y, alpha));
    EW_TRY(node1(NodeKind::kElu, in, y));
    out.graph.nodes.back().value = alpha;
    return {};
  }
  Result<void> binary(XnnBinary op, V a, V b, V y, Clamp c) override {
    EW_TRY(Base::binary(op, a, b, y, c));
    static constexpr NodeKind kKinds[] = {NodeKind::kAdd, NodeKind::kSubtract, NodeKind::kMultiply,
                                          NodeKind::kDiv, NodeKind::kMaximum,  NodeKind::kMinimum};
    if (op == XnnBinary::kSquaredDifference) {
      const ops::TensorType t = *y->tensor();
      const V d = temporary(t);
      EW_TRY(binary(XnnBinary::kSubtract, a, b, d, {}));
      EW_TRY(unary(XnnUnary::kSquare, d, y));
      return {};
    }
    const NodeKind kind = op == XnnBinary::kPrelu ? NodeKind::kPrelu : kKinds[static_cast<size_t>(op)];
    add({.kind = kind, .inputs = {id_of(a), id_of(b)}, .outputs = {id_of(y)}}, c);
    return {};
  }
  Result<void> binary(XnnBinary op, V a, float b, V y, Clamp c) override {
    return binary(op, a, constant_f32({b}, {1}), y, c);
  }
  Result<void> binary(XnnBinary op, float a, V b, V y, Clamp c) override {
    return binary(op, constant_f32({a}, {1}), b, y, c);
  }

  Result<void> fully_connected(V x, V w, V b, V y, bool transposed, Clamp c) override {
    EW_TRY(Base::fully_connected(x, w, b, y, transposed, c));
    add({.kind = NodeKind::kFullyConnected,
         .inputs = {id_of(x), packed(w), packed(b)},
         .outputs = {id_of(y)},
         .flags = transposed ? kFlagTransposeWeights : 0},
        c);
    return {};
  }
  Result<void> batch_matmul(V a, V b, V y) override {
    EW_TRY(Base::batch_matmul(a, b, y));
    add({.kind = NodeKind::kBatchMatrixMultiply, .inputs = {id_of(a), packed(b)}, .outputs = {id_of(y)}});
    return {};
  }
  Result<void> conv2d(V x, V w, V b, V y, const Window& win, uint32_t groups, Clamp c) override {
    EW_TRY(Base::conv2d(x, w, b, y, win, groups, c));
    return convolution(NodeKind::kConv2d, x, w, b, y, win, {groups, channels(x) / groups, channels(y) / groups}, c);
  }
  Result<void> depthwise_conv2d(V x, V w, V b, V y, const Window& win, uint32_t ch, uint32_t multiplier,
                                Clamp c) override {
    EW_TRY(Base::depthwise_conv2d(x, w, b, y, win, ch, multiplier, c));
    // The payload gives a depthwise convolution as groups of one input channel each.
    return convolution(NodeKind::kDepthwiseConv2d, x, w, b, y, win, {ch, 1, multiplier}, c);
  }
  Result<void> deconv2d(V x, V w, V b, V y, const Window& win, uint32_t groups, Clamp c) override {
    EW_TRY(Base::deconv2d(x, w, b, y, win, groups, c));
    return convolution(NodeKind::kConvTranspose2d, x, w, b, y, win,
                       {groups, channels(x) / groups, channels(y) / groups}, c);
  }
  Result<void> max_pool2d(V x, V y, const Window& w, Clamp c) override {
    EW_TRY(Base::max_pool2d(x, y, w, c));
    xnn::Node n{.kind = NodeKind::kMaxPooling2d, .inputs = {id_of(x)}, .outputs = {id_of(y)}, .flags = kFlagKeepDims};
    n.conv = window(w);
    add(std::move(n), c);
    return {};
  }
  Result<void> avg_pool2d(V x, V y, const Window& w, Clamp c) override {
    EW_TRY(Base::avg_pool2d(x, y, w, c));
    xnn::Node n{.kind = NodeKind::kAvgPooling2d, .inputs = {id_of(x)}, .outputs = {id_of(y)}, .flags = kFlagKeepDims};
    n.conv = window(w);
    add(std::move(n), c);
    return {};
  }
  Result<void> global_avg_pool2d(V x, V y, Clamp c) override {
    EW_TRY(Base::global_avg_pool2d(x, y, c));
    add({.kind = NodeKind::kGlobalAvgPooling2d, .inputs = {id_of(x)}, .outputs = {id_of(y)}, .flags = kFlagKeepDims},
        c);
    return {};
  }
  Result<void> resize_bilinear2d(V x, V y, int64_t h, int64_t w, bool align_corners, bool half_pixel) override {
    EW_TRY(Base::resize_bilinear2d(x, y, h, w, align_corners, half_pixel));
    xnn::Node n{.kind = NodeKind::kStaticResizeBilinear2d, .inputs = {id_of(x)}, .outputs = {id_of(y)}};
    n.flags = align_corners ? kFlagAlignCorners : half_pixel ? 0 : kFlagTensorflowLegacyMode;
    n.dims = {static_cast<uint32_t>(h), static_cast<uint32_t>(w)};
    add(std::move(n));
    return {};
  }
  Result<void> softmax(V in, V y) override {
    EW_TRY(Base::softmax(in, y));
    return node1(NodeKind::kSoftmax, in, y);
  }
  Result<void> static_transpose(V in, V y, std::vector<int64_t> perm) override {
    EW_TRY(Base::static_transpose(in, y, perm));
    EW_TRY(node1(NodeKind::kStaticTranspose, in, y));
    out.graph.nodes.back().dims = u32s(perm);
    return {};
  }
  Result<void> static_reshape(V in, V y, const ir::Shape& sizes) override {
    EW_TRY(Base::static_reshape(in, y, sizes));
    EW_TRY(node1(NodeKind::kStaticReshape, in, y));
    for (const ir::Dim& d : sizes)
      out.graph.nodes.back().dims.push_back(static_cast<uint32_t>(d.maybe().value_or(0)));  // 0: what is left
    return {};
  }
  Result<void> static_slice(V in, V y, std::vector<int64_t> offsets, std::vector<int64_t> sizes) override {
    EW_TRY(Base::static_slice(in, y, offsets, sizes));
    EW_TRY(node1(NodeKind::kStaticSlice, in, y));
    out.graph.nodes.back().dims = u32s(offsets);
    out.graph.nodes.back().dims2 = u32s(sizes);
    return {};
  }
  Result<void> static_constant_pad(V in, V y, std::vector<int64_t> pre, std::vector<int64_t> post,
                                   float value) override {
    EW_TRY(Base::static_constant_pad(in, y, pre, post, value));
    EW_TRY(node1(NodeKind::kStaticConstantPad, in, y));
    out.graph.nodes.back().dims = u32s(pre);
    out.graph.nodes.back().dims2 = u32s(post);
    out.graph.nodes.back().value = value;
    return {};
  }
  Result<void> concatenate(std::vector<V> in, V y, int64_t axis) override {
    EW_TRY(Base::concatenate(in, y, axis));
    // The payload has nodes for two to five operands: longer lists are joined five at a time.
    while (in.size() > 5) {
      std::vector<V> rest;
      for (size_t i = 0; i < in.size(); i += 5) {
        const std::vector<V> part(in.begin() + static_cast<std::ptrdiff_t>(i),
                                  in.begin() + static_cast<std::ptrdiff_t>(std::min(i + 5, in.size())));
        if (part.size() == 1) {
          rest.push_back(part[0]);
          continue;
        }
        ops::TensorType t = *part[0]->tensor();
        for (size_t k = 1; k < part.size(); ++k)
          t.shape[static_cast<size_t>(axis)] =
              t.shape[static_cast<size_t>(axis)] + part[k]->tensor()->shape[static_cast<size_t>(axis)];
        const V joined = temporary(t);
        EW_TRY(concatenate(part, joined, axis));
        rest.push_back(joined);
      }
      in = std::move(rest);
    }
    static constexpr NodeKind kKinds[] = {NodeKind::kConcatenate2, NodeKind::kConcatenate3, NodeKind::kConcatenate4,
                                          NodeKind::kConcatenate5};
    xnn::Node n{.kind = kKinds[in.size() - 2], .outputs = {id_of(y)}};
    for (V v : in) n.inputs.push_back(id_of(v));
    n.axis = static_cast<uint32_t>(axis);
    add(std::move(n));
    return {};
  }
  Result<void> copy(V in, V y) override {
    EW_TRY(Base::copy(in, y));
    return node1(NodeKind::kCopy, in, y);
  }

 private:
  // A size where every symbol is at its upper bound, or at a middling number where that is out of all proportion.
  uint32_t size(const ir::Dim& d) {
    if (d.is_constant()) return static_cast<uint32_t>(d.value());
    std::vector<std::string> symbols;
    d.collect_symbols(symbols);
    for (const std::string& s : symbols) {
      const auto it = ranges_.find(s);
      const ir::Range r = it == ranges_.end() ? ir::Range{} : it->second;
      at_bound_.try_emplace(s, r.hi <= kLargest ? r.hi : std::max(r.lo, std::min(r.hi, kMiddling)));
    }
    return static_cast<uint32_t>(std::clamp<int64_t>(d.evaluate(at_bound_).value_or(1), 1, UINT32_MAX));
  }
  static constexpr int64_t kLargest = 1 << 20, kMiddling = 64;

  uint32_t new_value(V v) {
    const auto id = static_cast<uint32_t>(out.graph.values.size());
    xnn::Value x;
    for (const ir::Dim& d : v->tensor()->shape) x.dims.push_back(size(d));
    x.id = id;
    out.graph.values.push_back(std::move(x));
    return id;
  }
  uint32_t id_of(V v) {
    auto [it, fresh] = ids_.try_emplace(v, 0);
    if (!fresh) return it->second;
    it->second = new_value(v);
    if (v->is_constant()) {
      out.constant_inputs.push_back(*v->data);
      make_external(it->second, xnn::kExternalInput);
    }
    return it->second;
  }
  // A constant that XNNPACK packs: its bytes go into the payload. Null: no such value.
  uint32_t packed(V v) {
    if (!v) return xnn::kInvalidId;
    if (!v->is_constant()) return id_of(v);
    auto [it, fresh] = packed_.try_emplace(v, 0);
    if (!fresh) return it->second;
    it->second = new_value(v);
    ir::Tensor t = v->data->contiguous();
    const Bytes bytes = t.bytes();
    out.owned.push_back(std::move(t));  // keeps the bytes
    out.graph.values[it->second].constant = static_cast<uint32_t>(out.graph.constants.size());
    out.graph.constants.push_back({.data = bytes, .named_key = {}, .size = bytes.size()});
    return it->second;
  }
  static uint32_t channels(V v) { return static_cast<uint32_t>(v->tensor()->shape.back().value()); }
  struct Groups {
    uint32_t count, inputs, outputs;  // channels of each
  };
  Result<void> convolution(NodeKind kind, V x, V w, V b, V y, const Window& win, Groups g, Clamp c) {
    xnn::Node n{.kind = kind, .inputs = {id_of(x), packed(w), packed(b)}, .outputs = {id_of(y)}};
    n.conv = window(win);
    n.conv.groups = g.count;
    n.conv.group_input_channels = g.inputs;
    n.conv.group_output_channels = g.outputs;
    n.conv.adjustment_height = win.output_padding[0];
    n.conv.adjustment_width = win.output_padding[1];
    add(std::move(n), c);
    return {};
  }
  static xnn::ConvParams window(const Window& w) {
    xnn::ConvParams p;
    p.padding_top = w.pad_top;
    p.padding_left = w.pad_left;
    p.padding_bottom = w.pad_bottom;
    p.padding_right = w.pad_right;
    p.kernel_height = w.kernel[0];
    p.kernel_width = w.kernel[1];
    p.stride_height = w.stride[0];
    p.stride_width = w.stride[1];
    p.dilation_height = w.dilation[0];
    p.dilation_width = w.dilation[1];
    return p;
  }
  void add(xnn::Node n, Clamp c = {}) {
    if (c.min != -INFINITY || c.max != INFINITY) n.output_min_max = {{c.min, c.max}};
    n.debug_handle = static_cast<uint32_t>(out.graph.nodes.size());
    out.graph.nodes.push_back(std::move(n));
  }
  void make_external(uint32_t id, uint32_t flags) {
    xnn::Value& x = out.graph.values[id];
    x.external_id = out.graph.num_externs++;
    x.flags |= flags;
    (flags == xnn::kExternalInput ? out.graph.input_ids : out.graph.output_ids).push_back(id);
  }
  Result<void> node1(NodeKind kind, V in, V y, Clamp c = {}) {
    const uint32_t a = id_of(in);  // inputs are numbered before outputs
    add({.kind = kind, .inputs = {a}, .outputs = {id_of(y)}}, c);
    return {};
  }
  const ir::SymbolRanges& ranges_;
  ir::SymbolValues at_bound_;
  std::unordered_map<V, uint32_t> ids_, packed_;
};

}  // namespace

Result<LoweredDelegate> lower_delegate(const ir::Graph& body, const ir::SymbolRanges& ranges) {
  PayloadEmitter e(ranges);
  for (const ir::Value* v : body.inputs()) e.external(v, xnn::kExternalInput);
  for (const auto& n : body.nodes()) {
    const ops::OpDef* d = ops::def(*n);
    if (!d || !d->lower) return fail(Code::kInternal, "{} has no lowering", n->name());
    if (auto r = d->lower(*n, e); !r) {
      Error err = std::move(r.error());
      err.code = Code::kInternal;
      err.node = n->result()->name;
      return std::unexpected(std::move(err));
    }
  }
  for (const ir::Arg& a : body.outputs) e.external(a.value(), xnn::kExternalOutput);
  return std::move(e.out);
}

}  // namespace edgewright::lower
