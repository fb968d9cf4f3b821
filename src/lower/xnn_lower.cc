#include "lower/xnn_lower.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "ops/xnn_quant.h"
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
    if (y->tensor()->dtype == DType::i8) {  // the bounds are of the stored numbers
      const ops::Quantization q = quantization(y);
      const auto real = [&](float stored) {
        return static_cast<float>((static_cast<double>(stored) - static_cast<double>(q.zero_point)) * q.scale);
      };
      c = {real(c.min), real(c.max)};
    }
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
    EW_ASSIGN(const Product p, product(x, w, b, y, transposed ? 1 : 0));
    add({.kind = NodeKind::kFullyConnected,
         .inputs = {p.x, p.weight, p.bias},
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
    if (y->tensor()->dtype == DType::i8) {
      const ops::Quantization q = quantization(y);
      value = static_cast<float>((static_cast<double>(value) - static_cast<double>(q.zero_point)) * q.scale);
    }
    EW_TRY(node1(NodeKind::kStaticConstantPad, in, y));
    out.graph.nodes.back().dims = u32s(pre);
    out.graph.nodes.back().dims2 = u32s(post);
    out.graph.nodes.back().value = value;
    return {};
  }
  Result<void> concatenate(std::vector<V> in, V y, int64_t axis) override {
    EW_TRY(Base::concatenate(in, y, axis));
    inherit(in[0], y);
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
        inherit(y, joined);
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
    return node1(in->tensor()->dtype == y->tensor()->dtype ? NodeKind::kCopy : NodeKind::kConvert, in, y);
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

  uint32_t new_value(V v, xnn::Datatype datatype = xnn::Datatype::kFp32, xnn::Quant quant = {}) {
    const auto id = static_cast<uint32_t>(out.graph.values.size());
    xnn::Value x;
    x.datatype = datatype;
    for (const ir::Dim& d : v->tensor()->shape) x.dims.push_back(size(d));
    x.id = id;
    x.quant = std::move(quant);
    out.graph.values.push_back(std::move(x));
    return id;
  }
  // Of an i8 activation; where nobody states one, any serves.
  ops::Quantization quantization(V v) const {
    if (const auto it = inherited_.find(v); it != inherited_.end()) return it->second;
    return ops::quantization_of(v).quantization.value_or(ops::Quantization{});
  }
  // A temporary is quantized as what it is made from or for.
  void inherit(V from, V temporary) {
    if (!temporary->producer && temporary->kind == ir::ValueKind::kResult && temporary->tensor()->dtype == DType::i8)
      inherited_.try_emplace(temporary, quantization(from));
  }
  uint32_t id_of(V v) {
    auto [it, fresh] = ids_.try_emplace(v, 0);
    if (!fresh) return it->second;
    const bool i8 = v->tensor()->dtype == DType::i8;
    const ops::Quantization q = i8 ? quantization(v) : ops::Quantization{};
    const bool f16 = v->tensor()->dtype == DType::f16;
    it->second = f16  ? new_value(v, xnn::Datatype::kFp16)
                 : i8 ? new_value(v, xnn::Datatype::kQint8,
                                  xnn::TensorQuant{static_cast<float>(q.scale), static_cast<int32_t>(q.zero_point)})
                      : new_value(v);
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
    out.graph.values[it->second].constant = data(v->data->contiguous());
    return it->second;
  }
  // Bytes of the payload, as the number of its constant.
  uint32_t data(ir::Tensor t) {
    const Bytes bytes = t.bytes();
    out.owned.push_back(std::move(t));  // keeps the bytes
    out.graph.constants.push_back({.data = bytes, .named_key = {}, .size = bytes.size()});
    return static_cast<uint32_t>(out.graph.constants.size() - 1);
  }
  uint32_t data_of(V v) {
    auto [it, fresh] = data_.try_emplace(v, 0);
    if (fresh) it->second = data(v->data->contiguous());
    return it->second;
  }

  // The operands of a product, quantized as the node that makes y says.
  struct Product {
    uint32_t x = 0, weight = 0, bias = 0;
  };
  Result<Product> product(V x, V w, V b, V y, int32_t channel_dim) {
    const ops::Form form = ops::form_of(y);
    if (form == ops::Form::kFloat) return Product{id_of(x), packed(w), packed(b)};
    const ir::Node& n = *y->producer;
    const V scale = n.arg("weight_scale").value();
    Product p;
    std::vector<float> scales;
    const ir::Tensor s = scale->data->contiguous();
    for (int64_t i = 0; i < s.numel(); ++i) scales.push_back(static_cast<float>(ir::load_f(s.dtype, s.data, i)));
    if (form == ops::Form::kDynamic) {
      const bool alone = n.name().starts_with("xnn.qw_");
      p.x = alone ? id_of(x) : dynamic(x, n.is("xnn.qd_fully_connected") ? 1 : 3);
      const bool four = *n.arg("bits").i() == 4;
      if (s.sizes.size() == 2) {
        EW_ASSIGN(p.weight, nibbles(w, xnn::Datatype::kQbint4, scale,
                                    xnn::ChannelGroupQuant{.scale = std::move(scales),
                                                           .channel_dim = channel_dim,
                                                           .group_size = static_cast<int32_t>(
                                                               w->tensor()->shape.back().value() / s.sizes[1])}));
      } else if (four) {
        EW_ASSIGN(p.weight, nibbles(w, xnn::Datatype::kQcint4, scale,
                                    xnn::ChannelQuant{.scale = std::move(scales), .channel_dim = channel_dim}));
      } else {
        p.weight = quantized_weight(w, scale, xnn::Datatype::kQcint8,
                                    xnn::ChannelQuant{.scale = std::move(scales), .channel_dim = channel_dim});
      }
      p.bias = packed(b);
      return p;
    }
    p.x = id_of(x);
    const auto input = static_cast<float>(ops::attribute_of(n, "x").scale);
    p.bias = xnn::kInvalidId;
    if (scales.size() == 1) {
      p.weight = quantized_weight(w, scale, xnn::Datatype::kQint8, xnn::TensorQuant{scales[0], 0});
      if (b) p.bias = new_value(b, xnn::Datatype::kQint32, xnn::TensorQuant{input * scales[0], 0});
    } else {
      std::vector<float> products = scales;
      for (float& f : products) f *= input;
      p.weight = quantized_weight(w, scale, xnn::Datatype::kQcint8,
                                  xnn::ChannelQuant{.scale = std::move(scales), .channel_dim = channel_dim});
      if (b)
        p.bias =
            new_value(b, xnn::Datatype::kQcint32, xnn::ChannelQuant{.scale = std::move(products), .channel_dim = 0});
    }
    if (b) out.graph.values[p.bias].constant = data_of(b);
    return p;
  }
  // Weights are one value for all nodes that read them by the same scales in the same way.
  uint32_t quantized_weight(V w, V scale, xnn::Datatype type, xnn::Quant quant) {
    const int32_t dim =
        std::holds_alternative<xnn::ChannelQuant>(quant) ? std::get<xnn::ChannelQuant>(quant).channel_dim : -1;
    auto [it, fresh] = weights_.try_emplace({w, scale, static_cast<int>(type), dim}, 0);
    if (!fresh) return it->second;
    it->second = new_value(w, type, std::move(quant));
    out.graph.values[it->second].constant = data_of(w);
    return it->second;
  }
  // Two weights to a byte, the first in its low half, each plus 8; rows begin at whole bytes.
  Result<uint32_t> nibbles(V w, xnn::Datatype type, V scale, xnn::Quant quant) {
    auto [it, fresh] = weights_.try_emplace({w, scale, static_cast<int>(type), 0}, 0);
    if (!fresh) return it->second;
    const ir::Tensor t = w->data->contiguous();
    const int64_t rows = t.sizes[0], columns = t.sizes[1], bytes = (columns + 1) / 2;
    ir::Tensor two = ir::Tensor::empty(DType::u8, {rows, bytes});
    const auto* from = reinterpret_cast<const int8_t*>(t.data);
    auto* to = reinterpret_cast<uint8_t*>(two.mutable_data());
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < bytes; ++c) {
        const int low = from[r * columns + 2 * c], high = 2 * c + 1 < columns ? from[r * columns + 2 * c + 1] : 0;
        if (low < -8 || low > 7 || high < -8 || high > 7) return fail(Code::kInternal, "a weight outside of 4 bits");
        to[r * bytes + c] = static_cast<uint8_t>((low + 8) | ((high + 8) << 4));
      }
    it->second = new_value(w, type, std::move(quant));
    out.graph.values[it->second].constant = data(std::move(two));
    return it->second;
  }
  // x quantized on the way, by its last `inner` dims; once for all that read it so.
  uint32_t dynamic(V x, int32_t inner) {
    const uint32_t from = id_of(x);
    auto [it, fresh] = dynamic_.try_emplace({x, inner}, 0);
    if (!fresh) return it->second;
    it->second = new_value(x, xnn::Datatype::kQdint8, xnn::TokenDynamicQuant{inner});
    add({.kind = NodeKind::kConvert, .inputs = {from}, .outputs = {it->second}});
    return it->second;
  }
  static uint32_t channels(V v) { return static_cast<uint32_t>(v->tensor()->shape.back().value()); }
  struct Groups {
    uint32_t count, inputs, outputs;  // channels of each
  };
  Result<void> convolution(NodeKind kind, V x, V w, V b, V y, const Window& win, Groups g, Clamp c) {
    EW_ASSIGN(const Product p, product(x, w, b, y, kind == NodeKind::kDepthwiseConv2d ? 3 : 0));
    xnn::Node n{.kind = kind, .inputs = {p.x, p.weight, p.bias}, .outputs = {id_of(y)}};
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
    inherit(in, y);
    const uint32_t a = id_of(in);  // inputs are numbered before outputs
    add({.kind = kind, .inputs = {a}, .outputs = {id_of(y)}}, c);
    return {};
  }
  const ir::SymbolRanges& ranges_;
  ir::SymbolValues at_bound_;
  std::unordered_map<V, uint32_t> ids_, packed_, data_;  // data_: constants of the payload
  std::unordered_map<V, ops::Quantization> inherited_;
  std::map<std::tuple<V, V, int, int32_t>, uint32_t> weights_;
  std::map<std::pair<V, int32_t>, uint32_t> dynamic_;
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
