#include "runtime/xnn/shapes.h"

#include <xnnpack.h>

#include <algorithm>
#include <bitset>

#include "base/checked.h"

namespace edgewright::runtime {
namespace {

using xnn::Datatype;
using xnn::NodeKind;

// What nodes may blow their inputs and constants up to, in elements of one value: a damaged size must not ask for all memory.
constexpr int64_t kFreeElements = int64_t{1} << 20, kGrowth = 4096, kMaxElements = int64_t{1} << 33;

uint64_t bits_of(Datatype t) {
  switch (t) {
    case Datatype::kFp32:
    case Datatype::kQint32:
    case Datatype::kQcint32:
    case Datatype::kInt32:
    case Datatype::kPfp32: return 32;
    case Datatype::kFp16:
    case Datatype::kBf16: return 16;
    case Datatype::kQint8:
    case Datatype::kQuint8:
    case Datatype::kQcint8:
    case Datatype::kQdint8:
    case Datatype::kQpint8: return 8;
    case Datatype::kQcint4:
    case Datatype::kQbint4: return 4;
    case Datatype::kInvalid: break;
  }
  return 0;
}

bool is_conv(NodeKind k) {
  return k == NodeKind::kConv2d || k == NodeKind::kDepthwiseConv2d || k == NodeKind::kConvTranspose2d;
}
bool is_pool(NodeKind k) {
  return k == NodeKind::kAvgPooling2d || k == NodeKind::kMaxPooling2d || k == NodeKind::kArgMaxPooling2d;
}
// Inputs that may be absent.
bool optional_input(const xnn::Node& n, size_t i) {
  return i == 2 && (is_conv(n.kind) || n.kind == NodeKind::kFullyConnected);
}

XnnShape shape_of(std::initializer_list<int64_t> dims) {
  XnnShape s;
  s.known = true;
  for (int64_t d : dims) s.dims[s.rank++] = d;
  return s;
}

std::string text(const XnnShape& s) { return fmt::format("[{}]", fmt::join(s.dims, s.dims + s.rank, ", ")); }

int64_t window(int64_t padded, int64_t kernel, int64_t dilation, int64_t stride) {
  const int64_t reach = (kernel - 1) * dilation + 1;
  return padded < reach ? 0 : (padded - reach) / stride + 1;
}

}  // namespace

uint64_t XnnShapes::constant_bytes(const xnn::Value& v) {
  uint64_t n = 1;
  for (uint32_t d : v.dims) n *= d;
  if (bits_of(v.datatype) != 4) return n * bits_of(v.datatype) / 8;
  // Rows of nibbles begin at whole bytes.
  const uint64_t row = v.dims.empty() ? 1 : v.dims.back();
  return row == 0 ? 0 : n / row * ((row + 1) / 2);
}

Result<XnnShapes> XnnShapes::make(const xnn::Graph& graph) {
  XnnShapes s(graph);
  EW_TRY(s.check_values());
  EW_TRY(s.check_nodes());
  return s;
}

Result<void> XnnShapes::check_values() {
  const xnn::Graph& g = *graph_;
  uint64_t ids = 0;
  for (const xnn::Value& v : g.values) ids = std::max<uint64_t>(ids, uint64_t{v.id} + 1);
  if (ids > 4 * g.values.size() + 1024)
    return fail(Code::kMalformed, "XNNPACK value id {} among {} values", ids - 1, g.values.size());
  if (g.num_externs > g.values.size())
    return fail(Code::kMalformed, "{} external values among {}", g.num_externs, g.values.size());
  std::vector<bool> externs(g.num_externs);
  index_.assign(ids, xnn::kInvalidId);
  shapes_.resize(g.values.size());
  for (uint32_t i = 0; i < g.values.size(); ++i) {
    const xnn::Value& v = g.values[i];
    const auto bad = [&](std::string_view why) { return fail(Code::kMalformed, "XNNPACK value {}: {}", v.id, why); };
    if (index_[v.id] != xnn::kInvalidId) return bad("its id occurs twice");
    index_[v.id] = i;
    if (v.datatype == Datatype::kInvalid) return bad("no datatype");
    if (v.dims.size() > kMaxXnnRank) return bad("too many dimensions");
    int64_t n = 1;
    for (uint32_t d : v.dims) {
      const auto m = checked_mul(n, std::max<int64_t>(d, 1));
      if (!m || *m > INT64_MAX / 8) return bad("its size overflows");
      n = *m;
    }
    const bool external = v.external_id != xnn::kInvalidId;
    if (external && (v.external_id >= g.num_externs || externs[v.external_id]))
      return bad("its external id is out of range or occurs twice");
    if (external) externs[v.external_id] = true;
    if (external == ((v.flags & 3) == 0) || (v.flags & ~3u) != 0 || (v.flags & 3) == 3)
      return bad("its flags do not go with its external id");
    if (external && v.constant > 0) return bad("both external and constant");
    if (v.constant > 0) {
      if (g.constants[v.constant].size < constant_bytes(v)) return bad("its data is shorter than its shape");
      given_ += n;
      shapes_[i].known = true;
      for (uint32_t d : v.dims) shapes_[i].dims[shapes_[i].rank++] = d;
    }
    const auto scales = [&](const auto& q, uint64_t wanted, uint64_t width) -> Result<void> {
      if (q.channel_dim < 0 || static_cast<size_t>(q.channel_dim) >= v.dims.size())
        return bad("no such channel dimension");
      const uint64_t there = q.scale_constant > 0
                                 ? std::min<uint64_t>(q.num_scales, g.constants[q.scale_constant].size / width)
                                 : q.scale.size();
      if (there < wanted) return bad("too few scales");
      return {};
    };
    const bool per_channel =
        v.datatype == Datatype::kQcint8 || v.datatype == Datatype::kQcint32 || v.datatype == Datatype::kQcint4;
    if (per_channel != std::holds_alternative<xnn::ChannelQuant>(v.quant) ||
        (v.datatype == Datatype::kQbint4) != std::holds_alternative<xnn::ChannelGroupQuant>(v.quant) ||
        (v.datatype == Datatype::kQdint8) != std::holds_alternative<xnn::TokenDynamicQuant>(v.quant))
      return bad("its quantization parameters do not go with its datatype");
    if (const auto* q = std::get_if<xnn::ChannelQuant>(&v.quant)) {
      if (v.constant == 0) return bad("per-channel quantized, but no constant");
      EW_TRY(scales(*q,
                    q->channel_dim >= 0 && static_cast<size_t>(q->channel_dim) < v.dims.size()
                        ? v.dims[static_cast<size_t>(q->channel_dim)]
                        : 0,
                    4));
    } else if (const auto* q = std::get_if<xnn::ChannelGroupQuant>(&v.quant)) {
      if (v.constant == 0 || v.dims.size() != 2 || q->channel_dim != 0 || q->group_size <= 0 ||
          v.dims[1] % static_cast<uint32_t>(q->group_size) != 0)
        return bad("not a weight matrix quantized by groups of its rows");
      EW_TRY(scales(*q, uint64_t{v.dims[0]} * (v.dims[1] / static_cast<uint32_t>(q->group_size)), 2));
    } else if (const auto* q = std::get_if<xnn::TokenDynamicQuant>(&v.quant)) {
      if (q->num_nonbatch_dims < 0 || static_cast<size_t>(q->num_nonbatch_dims) > v.dims.size())
        return bad("more non-batch dimensions than dimensions");
      if (v.constant > 0 || external) return bad("quantized at run time, but no intermediate value");
    } else if (std::holds_alternative<std::monostate>(v.quant) &&
               (v.datatype == Datatype::kQint8 || v.datatype == Datatype::kQuint8 || v.datatype == Datatype::kQint32)) {
      return bad("quantized without parameters");
    }
  }
  return {};
}

Result<void> XnnShapes::check_nodes() {
  const xnn::Graph& g = *graph_;
  std::vector<bool> defined(g.values.size());
  for (size_t i = 0; i < g.values.size(); ++i)
    defined[i] = g.values[i].constant > 0 || (g.values[i].flags & xnn::kExternalInput) != 0;
  for (size_t at = 0; at < g.nodes.size(); ++at) {
    const xnn::Node& n = g.nodes[at];
    const auto bad = [&](std::string_view why) {
      return fail(Code::kMalformed, "XNNPACK node {} ({}): {}", at, name(n.kind), why);
    };
    const auto exists = [&](uint32_t id) { return id < index_.size() && index_[id] != xnn::kInvalidId; };
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == xnn::kInvalidId && optional_input(n, i)) continue;
      if (!exists(n.inputs[i])) return bad("no such input value");
      if (!defined[index_[n.inputs[i]]]) return bad("an input is used before it is computed");
    }
    for (uint32_t id : n.outputs) {
      if (!exists(id)) return bad("no such output value");
      if (defined[index_[id]]) return bad("an output is computed twice, or is an input or a constant");
      defined[index_[id]] = true;
    }
    const auto value = [&](size_t i) -> const xnn::Value& { return g.values[index_[n.inputs[i]]]; };
    const bool bias = n.inputs.size() > 2 && n.inputs[2] != xnn::kInvalidId;
    if (is_conv(n.kind)) {
      const xnn::ConvParams& c = n.conv;
      if (value(1).constant == 0 || (bias && value(2).constant == 0)) return bad("its filter or bias is no constant");
      if (c.groups == 0 || c.group_input_channels == 0 || c.group_output_channels == 0)
        return bad("no groups or channels");
      if (n.kind == NodeKind::kDepthwiseConv2d && c.group_input_channels != 1)
        return bad("depthwise with several input channels in a group");
    }
    if (is_conv(n.kind) || is_pool(n.kind)) {
      const xnn::ConvParams& c = n.conv;
      constexpr uint32_t kMost = 1u << 20;  // so that what follows cannot overflow
      const auto positive = [&](std::initializer_list<uint32_t> list) {
        for (uint32_t p : list)
          if (p == 0 || p > kMost) return false;
        return true;
      };
      // Poolings store zeros in the fields that they do not have.
      if (!positive({c.kernel_height, c.kernel_width}) ||
          (n.kind != NodeKind::kArgMaxPooling2d && !positive({c.stride_height, c.stride_width})) ||
          ((is_conv(n.kind) || n.kind == NodeKind::kMaxPooling2d) && !positive({c.dilation_height, c.dilation_width})))
        return bad("kernel, stride or dilation out of range");
      for (uint32_t p :
           {c.padding_top, c.padding_right, c.padding_bottom, c.padding_left, c.adjustment_height, c.adjustment_width})
        if (p > kMost) return bad("padding out of range");
      if ((n.flags & XNN_FLAG_TENSORFLOW_SAME_PADDING) != 0 &&
          (c.padding_top || c.padding_right || c.padding_bottom || c.padding_left))
        return bad("both implicit and explicit padding");
    }
    if (n.kind == NodeKind::kFullyConnected) {
      const Datatype w = value(1).datatype;
      if (value(1).constant == 0 && w != Datatype::kFp32 && w != Datatype::kFp16)
        return bad("its quantized filter is no constant");
      if (bias && value(2).constant == 0 && value(1).constant > 0)
        return bad("its bias is no constant although its filter is");
      if (bias && value(2).constant > 0 && value(1).constant == 0)
        return bad("its bias is a constant although its filter is none");
      if (w == Datatype::kQbint4 && (n.flags & XNN_FLAG_TRANSPOSE_WEIGHTS) != 0)
        return bad("transposed weights quantized by groups");
    }
    if (n.kind == NodeKind::kBatchMatrixMultiply && value(0).constant > 0)
      return bad("its first operand is a constant");
    if (n.output_min_max && !((*n.output_min_max)[0] <= (*n.output_min_max)[1]))
      return bad("its output bounds are NaN or crossed");
  }
  for (size_t i = 0; i < g.values.size(); ++i)
    if ((g.values[i].flags & xnn::kExternalOutput) != 0 && !defined[i])
      return fail(Code::kMalformed, "XNNPACK output {} is never computed", g.values[i].id);
  return {};
}

Result<void> XnnShapes::infer() {
  int64_t most = given_;
  for (size_t i = 0; i < shapes_.size(); ++i)
    if ((graph_->values[i].flags & xnn::kExternalInput) != 0)
      most = checked_add(most, shapes_[i].numel()).value_or(kMaxElements);
  most = std::min(kFreeElements + kGrowth * std::min(most, kMaxElements), kMaxElements);
  for (size_t at = 0; at < graph_->nodes.size(); ++at) {
    const xnn::Node& n = graph_->nodes[at];
    auto r = infer_node(n);
    for (size_t k = 0; r && k < n.outputs.size(); ++k) {
      const XnnShape& s = shapes_[index_[n.outputs[k]]];
      int64_t total = 1;
      for (uint8_t d = 0; d < s.rank; ++d) {
        if (s.dims[d] < 0) r = fail(Code::kUsage, "its result has a negative size");
        total = checked_mul(total, std::max<int64_t>(s.dims[d], 1)).value_or(INT64_MAX);
      }
      if (total > most) r = fail(Code::kUnsupported, "its result would have more than {} elements", most);
    }
    if (!r) return with_note(std::move(r.error()), fmt::format("XNNPACK node {} ({})", at, name(n.kind)));
  }
  return {};
}

Result<void> XnnShapes::infer_node(const xnn::Node& n) {
  const auto in = [&](size_t i) -> const XnnShape& { return shapes_[index_[n.inputs[i]]]; };
  const auto out = [&](const XnnShape& s, size_t i = 0) { shapes_[index_[n.outputs[i]]] = s; };
  const XnnShape& x = in(0);
  const auto misfit = [&](std::string_view why) { return fail(Code::kUsage, "{}: input {}", why, text(x)); };
  const auto last = [](const XnnShape& s, int back = 1) { return s.dims[s.rank - back]; };
  const bool bias = n.inputs.size() > 2 && n.inputs[2] != xnn::kInvalidId;
  const xnn::ConvParams& c = n.conv;
  switch (n.kind) {
    case NodeKind::kAdd:
    case NodeKind::kDiv:
    case NodeKind::kMinimum:
    case NodeKind::kMultiply:
    case NodeKind::kSubtract:
    case NodeKind::kMaximum:
    case NodeKind::kPrelu: {
      const XnnShape& y = in(1);
      XnnShape s;
      s.known = true;
      s.rank = std::max(x.rank, y.rank);
      for (int d = 1; d <= s.rank; ++d) {
        const int64_t a = d <= x.rank ? last(x, d) : 1, b = d <= y.rank ? last(y, d) : 1;
        if (a != b && a != 1 && b != 1)
          return fail(Code::kUsage, "shapes do not broadcast: {} and {}", text(x), text(y));
        s.dims[s.rank - d] = a == 1 ? b : a;
      }
      out(s);
      return {};
    }
    case NodeKind::kSoftmax:
      if (x.rank == 0) return misfit("softmax of a scalar");
      out(x);
      return {};
    case NodeKind::kSigmoid:
    case NodeKind::kClamp:
    case NodeKind::kFloor:
    case NodeKind::kConvert:
    case NodeKind::kSquareRoot:
    case NodeKind::kCeiling:
    case NodeKind::kHardswish:
    case NodeKind::kLeakyRelu:
    case NodeKind::kNegate:
    case NodeKind::kSquare:
    case NodeKind::kElu:
    case NodeKind::kAbs:
    case NodeKind::kReciprocalSquareRoot:
    case NodeKind::kLog:
    case NodeKind::kGelu:
    case NodeKind::kTanh:
    case NodeKind::kExp:
    case NodeKind::kSin:
    case NodeKind::kCopy:
    case NodeKind::kCos: out(x); return {};
    case NodeKind::kFullyConnected: {
      const XnnShape& w = in(1);
      if (w.rank != 2 || x.rank == 0) return misfit("the filter is no matrix, or the input a scalar");
      const bool transposed = (n.flags & XNN_FLAG_TRANSPOSE_WEIGHTS) != 0;
      const int64_t outputs = w.dims[transposed ? 1 : 0], inputs = w.dims[transposed ? 0 : 1];
      if (bias && in(2).numel() != outputs) return fail(Code::kUsage, "bias {} for a filter {}", text(in(2)), text(w));
      XnnShape s = x;
      if ((n.flags & XNN_FLAG_TENSORFLOW_RESHAPE_2D) != 0) {
        if (inputs == 0 || x.numel() % inputs != 0) return misfit("its elements are no rows of the filter");
        s = shape_of({x.numel() / inputs, outputs});
      } else {
        if (last(x) != inputs) return fail(Code::kUsage, "input {} for a filter {}", text(x), text(w));
        s.dims[s.rank - 1] = outputs;
      }
      out(s);
      return {};
    }
    case NodeKind::kConv2d:
    case NodeKind::kDepthwiseConv2d:
    case NodeKind::kConvTranspose2d: {
      const bool depthwise = n.kind == NodeKind::kDepthwiseConv2d;
      const int64_t outputs = int64_t{c.groups} * c.group_output_channels,
                    inputs = int64_t{c.groups} * c.group_input_channels;
      const XnnShape& w = in(1);
      const XnnShape wanted = depthwise ? shape_of({1, c.kernel_height, c.kernel_width, outputs})
                                        : shape_of({outputs, c.kernel_height, c.kernel_width, c.group_input_channels});
      if (!(w == wanted)) return fail(Code::kUsage, "filter {} where {} is wanted", text(w), text(wanted));
      if (bias && in(2).numel() != outputs)
        return fail(Code::kUsage, "bias {} for {} output channels", text(in(2)), outputs);
      if (x.rank != 4 || x.dims[3] != inputs) return misfit(fmt::format("no NHWC image of {} channels", inputs));
      int64_t h, w_out;
      if (n.kind == NodeKind::kConvTranspose2d) {
        h = int64_t{c.stride_height} * (x.dims[1] - 1) + c.adjustment_height +
            (int64_t{c.kernel_height} - 1) * c.dilation_height + 1 - c.padding_top - c.padding_bottom;
        w_out = int64_t{c.stride_width} * (x.dims[2] - 1) + c.adjustment_width +
                (int64_t{c.kernel_width} - 1) * c.dilation_width + 1 - c.padding_left - c.padding_right;
      } else if ((n.flags & XNN_FLAG_TENSORFLOW_SAME_PADDING) != 0) {
        h = (x.dims[1] + c.stride_height - 1) / c.stride_height;
        w_out = (x.dims[2] + c.stride_width - 1) / c.stride_width;
      } else {
        h = window(x.dims[1] + c.padding_top + c.padding_bottom, c.kernel_height, c.dilation_height, c.stride_height);
        w_out = window(x.dims[2] + c.padding_left + c.padding_right, c.kernel_width, c.dilation_width, c.stride_width);
      }
      if (h <= 0 || w_out <= 0) return misfit("smaller than the kernel");
      out(shape_of({x.dims[0], h, w_out, outputs}));
      return {};
    }
    case NodeKind::kAvgPooling2d:
    case NodeKind::kMaxPooling2d:
    case NodeKind::kArgMaxPooling2d: {
      if (x.rank != 4) return misfit("no NHWC image");
      const bool arg_max = n.kind == NodeKind::kArgMaxPooling2d, max = n.kind == NodeKind::kMaxPooling2d;
      const uint32_t sh = arg_max ? c.kernel_height : c.stride_height, sw = arg_max ? c.kernel_width : c.stride_width;
      int64_t h =
          window(x.dims[1] + c.padding_top + c.padding_bottom, c.kernel_height, max ? c.dilation_height : 1, sh);
      int64_t w = window(x.dims[2] + c.padding_left + c.padding_right, c.kernel_width, max ? c.dilation_width : 1, sw);
      if ((n.flags & XNN_FLAG_TENSORFLOW_SAME_PADDING) != 0) {
        h = (x.dims[1] + sh - 1) / sh;
        w = (x.dims[2] + sw - 1) / sw;
      }
      if (h <= 0 || w <= 0) return misfit("smaller than the window");
      for (size_t i = 0; i < n.outputs.size(); ++i) out(shape_of({x.dims[0], h, w, x.dims[3]}), i);
      return {};
    }
    case NodeKind::kGlobalAvgPooling2d: {
      if (x.rank != 4) return misfit("no NHWC image");
      // Whether the pooled dimensions stay is told by the declared rank.
      const bool keep = graph_->values[index_[n.outputs[0]]].dims.size() == 4;
      out(keep ? shape_of({x.dims[0], 1, 1, x.dims[3]}) : shape_of({x.dims[0], x.dims[3]}));
      return {};
    }
    case NodeKind::kStaticTranspose: {
      if (n.dims.size() != x.rank) return misfit(fmt::format("a permutation of {} dimensions", n.dims.size()));
      std::bitset<kMaxXnnRank> seen;
      XnnShape s = x;
      for (uint8_t d = 0; d < x.rank; ++d) {
        if (n.dims[d] >= x.rank || seen[n.dims[d]]) return fail(Code::kMalformed, "no permutation");
        seen.set(n.dims[d]);
        s.dims[d] = x.dims[n.dims[d]];
      }
      out(s);
      return {};
    }
    case NodeKind::kStaticReshape: {
      if (n.dims.size() > kMaxXnnRank) return fail(Code::kMalformed, "too many dimensions");
      XnnShape s;
      s.known = true;
      s.rank = static_cast<uint8_t>(n.dims.size());
      int64_t rest = 1;
      int open = -1;
      for (uint8_t d = 0; d < s.rank; ++d) {
        s.dims[d] = n.dims[d];
        if (n.dims[d] == 0) {
          if (open >= 0) return fail(Code::kMalformed, "two open dimensions");
          open = d;
        } else {
          rest = checked_mul(rest, n.dims[d]).value_or(-1);
          if (rest < 0) return fail(Code::kMalformed, "its size overflows");
        }
      }
      if (open >= 0 ? x.numel() % rest != 0 : x.numel() != rest)
        return misfit(fmt::format("does not reshape to [{}]", fmt::join(n.dims, ", ")));
      if (open >= 0) s.dims[open] = x.numel() / rest;
      out(s);
      return {};
    }
    case NodeKind::kStaticResizeBilinear2d:
      if (x.rank != 4 || x.dims[1] == 0 || x.dims[2] == 0) return misfit("no NHWC image");
      if (n.dims[0] == 0 || n.dims[1] == 0 || n.dims[0] >= 1u << 24 || n.dims[1] >= 1u << 24)
        return fail(Code::kMalformed, "size out of range");
      if ((n.flags & XNN_FLAG_ALIGN_CORNERS) != 0 && (n.flags & XNN_FLAG_TENSORFLOW_LEGACY_MODE) != 0)
        return fail(Code::kMalformed, "conflicting flags");
      out(shape_of({x.dims[0], n.dims[0], n.dims[1], x.dims[3]}));
      return {};
    case NodeKind::kStaticConstantPad: {
      if (n.dims.size() != x.rank || n.dims2.size() != x.rank)
        return misfit(fmt::format("paddings of {} dimensions", n.dims.size()));
      XnnShape s = x;
      for (uint8_t d = 0; d < x.rank; ++d) s.dims[d] += int64_t{n.dims[d]} + n.dims2[d];
      out(s);
      return {};
    }
    case NodeKind::kStaticSlice: {
      if (n.dims.size() != x.rank || n.dims2.size() != x.rank)
        return misfit(fmt::format("a slice of {} dimensions", n.dims.size()));
      XnnShape s = x;
      for (uint8_t d = 0; d < x.rank; ++d) {
        if (n.dims2[d] == 0 ? n.dims[d] != 0 : int64_t{n.dims[d]} + n.dims2[d] > x.dims[d])
          return misfit("smaller than the slice");
        if (n.dims2[d] != 0) s.dims[d] = n.dims2[d];
      }
      out(s);
      return {};
    }
    case NodeKind::kConcatenate2:
    case NodeKind::kConcatenate3:
    case NodeKind::kConcatenate4:
    case NodeKind::kConcatenate5: {
      auto axis = static_cast<int32_t>(n.axis);
      if (axis < 0) axis += x.rank;
      if (axis < 0 || axis >= x.rank) return misfit(fmt::format("no dimension {}", static_cast<int32_t>(n.axis)));
      XnnShape s = x;
      for (size_t i = 1; i < n.inputs.size(); ++i) {
        XnnShape y = in(i);
        if (y.rank != x.rank) return misfit("ranks differ");
        s.dims[axis] += y.dims[axis];
        y.dims[axis] = x.dims[axis];
        if (!(y == x)) return misfit(fmt::format("shapes differ from {}", text(in(i))));
      }
      out(s);
      return {};
    }
    case NodeKind::kScaledDotProductAttention: {
      const XnnShape &k = in(1), &v = in(2), &scale = in(3), &mask = in(4);
      const auto batch_equal = [&](const XnnShape& s) {
        if (s.rank != x.rank && s.rank + 1 != x.rank) return false;
        for (int d = 0; d + 2 < s.rank; ++d)
          if (s.dims[d] != x.dims[d]) return false;
        return true;
      };
      if (x.rank < 3 || k.rank < 2 || v.rank != k.rank || !batch_equal(k) || !batch_equal(v) || last(k) != last(x) ||
          last(v, 2) != last(k, 2))
        return fail(Code::kUsage, "query {}, key {} and value {} do not go together", text(x), text(k), text(v));
      if (!(scale == shape_of({last(x)})) || !(mask == shape_of({last(x, 2), last(k, 2)})))
        return fail(Code::kUsage, "scale {} or mask {} do not go with query {} and key {}", text(scale), text(mask),
                    text(x), text(k));
      XnnShape s = x;
      s.dims[s.rank - 1] = last(v);
      out(s);
      return {};
    }
    case NodeKind::kBatchMatrixMultiply: {
      const XnnShape& y = in(1);
      if (x.rank < 2 || y.rank < 2) return misfit("no matrix");
      const bool transposed = (n.flags & XNN_FLAG_TRANSPOSE_B) != 0;
      const int64_t inner = last(y, transposed ? 1 : 2), cols = last(y, transposed ? 2 : 1);
      XnnShape s;
      s.known = true;
      s.rank = std::max(x.rank, y.rank);
      bool fits = inner == last(x);
      for (int d = 3; d <= s.rank; ++d) {
        const int64_t a = d <= x.rank ? last(x, d) : 1, b = d <= y.rank ? last(y, d) : 1;
        fits = fits && (a == b || a == 1 || b == 1);
        s.dims[s.rank - d] = std::max(a, b);
      }
      if (!fits) return fail(Code::kUsage, "{} and {} do not multiply", text(x), text(y));
      s.dims[s.rank - 2] = last(x, 2);
      s.dims[s.rank - 1] = cols;
      out(s);
      return {};
    }
  }
  return fail(Code::kUnsupported, "unknown kind");
}

}  // namespace edgewright::runtime
