// src/runtime/xnn/backend.cc - runs XNNPACK payloads. Depends on runtime/backend.h, xnn/shapes.h, format/xnn_payload.h, XNNPACK.
#include "runtime/backend.h"

#include <pthreadpool.h>
#include <xnnpack.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "format/xnn_payload.h"
#include "runtime/kernel.h"
#include "runtime/xnn/shapes.h"

namespace edgewright::runtime {
namespace {

using xnn::Datatype;
using xnn::NodeKind;

xnn_datatype native(Datatype t) {
  switch (t) {
    case Datatype::kInvalid: return xnn_datatype_invalid;
    case Datatype::kFp32: return xnn_datatype_fp32;
    case Datatype::kFp16: return xnn_datatype_fp16;
    case Datatype::kQint8: return xnn_datatype_qint8;
    case Datatype::kQuint8: return xnn_datatype_quint8;
    case Datatype::kQint32: return xnn_datatype_qint32;
    case Datatype::kQcint8: return xnn_datatype_qcint8;
    case Datatype::kQcint32: return xnn_datatype_qcint32;
    case Datatype::kQcint4: return xnn_datatype_qcint4;
    case Datatype::kQdint8: return xnn_datatype_qdint8;
    case Datatype::kQbint4: return xnn_datatype_qbint4;
    case Datatype::kQpint8: return xnn_datatype_qpint8;
    case Datatype::kInt32: return xnn_datatype_int32;
    case Datatype::kPfp32: return xnn_datatype_pfp32;
    case Datatype::kBf16: return xnn_datatype_bf16;
  }
  return xnn_datatype_invalid;
}

// The element type of an external value's tensor.
bool same_type(Datatype t, DType d, bool output) {
  switch (t) {
    case Datatype::kFp32: return d == DType::f32;
    case Datatype::kFp16: return d == DType::f16;
    case Datatype::kBf16: return d == DType::bf16;
    case Datatype::kQint8: return d == DType::i8 || d == DType::qi8;
    case Datatype::kQuint8: return d == DType::u8 || d == DType::qu8;
    case Datatype::kInt32:
    case Datatype::kQint32: return d == DType::i32 || (output && d == DType::i64);
    default: return false;
  }
}

const char* text(xnn_status s) {
  switch (s) {
    case xnn_status_success: return "success";
    case xnn_status_uninitialized: return "not initialized";
    case xnn_status_invalid_parameter: return "invalid parameter";
    case xnn_status_invalid_state: return "invalid state";
    case xnn_status_unsupported_parameter: return "unsupported parameter";
    case xnn_status_unsupported_hardware: return "unsupported hardware";
    case xnn_status_out_of_memory: return "out of memory";
    default: return "failed";
  }
}

struct SubgraphDeleter {
  void operator()(xnn_subgraph_t s) const { xnn_delete_subgraph(s); }
};
struct RuntimeDeleter {
  void operator()(xnn_runtime_t r) const { xnn_delete_runtime(r); }
};
struct CacheDeleter {
  void operator()(xnn_weights_cache_t c) const { xnn_delete_weights_cache(c); }
};
using Cache = std::unique_ptr<std::remove_pointer_t<xnn_weights_cache_t>, CacheDeleter>;
using Subgraph = std::unique_ptr<xnn_subgraph, SubgraphDeleter>;
using Runtime = std::unique_ptr<xnn_runtime, RuntimeDeleter>;

// Constants where XNNPACK may use them: aligned, and with room behind them that it may read.
class Constants {
 public:
  explicit Constants(Bytes file) : file_(file) {}

  Result<void> load(const xnn::Graph& g, const NamedDataSource& named) {
    data_.reserve(g.constants.size());
    for (size_t i = 0; i < g.constants.size(); ++i) {
      const xnn::Constant& c = g.constants[i];
      Bytes b = c.data;
      if (!c.named_key.empty()) {
        const Bytes* found = named.find(c.named_key);
        if (!found) return fail(Code::kMalformed, "the file has no data named '{}'", c.named_key);
        if (found->size() < c.size)
          return fail(Code::kMalformed, "truncated: data '{}' is {} bytes of {}", c.named_key, found->size(), c.size);
        b = found->first(c.size);
      }
      data_.push_back(usable(b));
    }
    return {};
  }
  const void* operator[](size_t i) const { return data_[i]; }

 private:
  const void* usable(Bytes b) {
    const bool inside =
        b.data() >= file_.data() && b.data() + b.size() + XNN_EXTRA_BYTES <= file_.data() + file_.size();
    if (inside && reinterpret_cast<uintptr_t>(b.data()) % 16 == 0) return b.data();
    std::byte* copy = copies_.emplace_back(new std::byte[b.size() + XNN_EXTRA_BYTES]).get();
    if (!b.empty()) std::memcpy(copy, b.data(), b.size());
    std::memset(copy + b.size(), 0, XNN_EXTRA_BYTES);
    return copy;
  }

  Bytes file_;
  std::vector<const void*> data_;
  std::vector<std::unique_ptr<std::byte[]>> copies_;
};

// Whether nodes share a constant that XNNPACK packs, as the steps of a recurrence do.
bool shares_weights(const xnn::Graph& g) {
  std::set<uint32_t> seen;
  for (const xnn::Node& n : g.nodes) {
    const bool packs = n.kind == NodeKind::kFullyConnected || n.kind == NodeKind::kConv2d ||
                       n.kind == NodeKind::kDepthwiseConv2d || n.kind == NodeKind::kConvTranspose2d;
    if (packs && !seen.insert(n.inputs[1]).second) return true;
  }
  return false;
}

// Defines a checked graph's values and nodes in an XNNPACK subgraph.
class Definer {
 public:
  Definer(const xnn::Graph& g, const XnnShapes& shapes, const Constants& constants)
      : g_(g), shapes_(shapes), constants_(constants) {}

  Result<Subgraph> run() {
    xnn_subgraph_t raw = nullptr;
    if (const auto s = xnn_create_subgraph(g_.num_externs, 0, &raw); s != xnn_status_success)
      return fail(Code::kInternal, "XNNPACK: no subgraph: {}", text(s));
    Subgraph subgraph(raw);
    s_ = raw;
    ids_.assign(g_.values.size(), XNN_INVALID_VALUE_ID);
    for (size_t i = 0; i < g_.values.size(); ++i)
      if (const auto s = define(g_.values[i], ids_[i]); s != xnn_status_success)
        return fail(Code::kUnsupported, "XNNPACK takes no value {} of datatype {}: {}", g_.values[i].id,
                    static_cast<int>(g_.values[i].datatype), text(s));
    const std::vector<bool> live = live_nodes();
    for (size_t i = 0; i < g_.nodes.size(); ++i)
      if (live[i])
        if (const auto s = define(g_.nodes[i]); s != xnn_status_success)
          return fail(Code::kUnsupported, "XNNPACK takes no node {} ({}): {}", i, name(g_.nodes[i].kind), text(s));
    return subgraph;
  }

 private:
  // XNNPACK aborts on a chain of nodes that nobody reads.
  std::vector<bool> live_nodes() const {
    std::vector<bool> live(g_.nodes.size()), read(g_.values.size());
    for (size_t i = 0; i < g_.values.size(); ++i) read[i] = (g_.values[i].flags & xnn::kExternalOutput) != 0;
    for (size_t i = g_.nodes.size(); i-- > 0;) {
      for (const uint32_t v : g_.nodes[i].outputs) live[i] = live[i] || read[shapes_.index_of(v)];
      if (!live[i]) continue;
      for (const uint32_t v : g_.nodes[i].inputs)
        if (v != xnn::kInvalidId) read[shapes_.index_of(v)] = true;
    }
    return live;
  }

  xnn_status define(const xnn::Value& v, uint32_t& id) {
    size_t dims[kMaxXnnRank] = {};
    for (size_t d = 0; d < v.dims.size(); ++d) dims[d] = v.dims[d];
    const size_t rank = v.dims.size();
    const void* data = v.constant > 0 ? constants_[v.constant] : nullptr;
    const xnn_datatype type = native(v.datatype);
    if (const auto* q = std::get_if<xnn::TensorQuant>(&v.quant))
      return xnn_define_quantized_tensor_value(s_, type, q->zero_point, q->scale, rank, dims, data, v.external_id,
                                               v.flags, &id);
    if (const auto* q = std::get_if<xnn::TokenDynamicQuant>(&v.quant))
      return xnn_define_dynamically_quantized_tensor_value(s_, type, rank, static_cast<size_t>(q->num_nonbatch_dims),
                                                           dims, v.external_id, v.flags, &id);
    if (const auto* q = std::get_if<xnn::ChannelQuant>(&v.quant)) {
      const auto* scale =
          q->scale_constant > 0 ? static_cast<const float*>(constants_[q->scale_constant]) : q->scale.data();
      const int32_t zero_point = v.datatype == Datatype::kQcint4 ? 8 : 0;  // nibbles are stored with an offset
      return xnn_define_channelwise_quantized_tensor_value_v2(s_, type, zero_point, scale, rank,
                                                              static_cast<size_t>(q->channel_dim), dims, data,
                                                              v.external_id, v.flags, &id);
    }
    if (const auto* q = std::get_if<xnn::ChannelGroupQuant>(&v.quant)) {
      const uint16_t* scale = nullptr;
      if (q->scale_constant > 0) {
        scale = static_cast<const uint16_t*>(constants_[q->scale_constant]);
      } else {
        auto& bf16 = group_scales_.emplace_back();
        for (float f : q->scale) bf16.push_back(double_to_bf16(f));
        scale = bf16.data();
      }
      return xnn_define_blockwise_quantized_tensor_value(s_, type, 8, scale, rank, static_cast<size_t>(q->channel_dim),
                                                         static_cast<size_t>(q->group_size), dims, data, v.external_id,
                                                         v.flags, &id);
    }
    return xnn_define_tensor_value(s_, type, rank, dims, data, v.external_id, v.flags, &id);
  }

  uint32_t id(uint32_t payload_id) const {
    return payload_id == xnn::kInvalidId ? XNN_INVALID_VALUE_ID : ids_[shapes_.index_of(payload_id)];
  }

  xnn_status unary(const xnn::Node& n, xnn_unary_operator op, const xnn_unary_params* params = nullptr) {
    return xnn_define_unary(s_, op, params, id(n.inputs[0]), id(n.outputs[0]), n.flags);
  }
  xnn_status binary(const xnn::Node& n, xnn_binary_operator op) {
    const xnn_binary_params params{min_, max_};
    return xnn_define_binary(s_, op, n.output_min_max ? &params : nullptr, id(n.inputs[0]), id(n.inputs[1]),
                             id(n.outputs[0]), n.flags);
  }

  xnn_status define(const xnn::Node& n) {
    const auto in = [&](size_t i) { return id(n.inputs[i]); };
    const uint32_t out = id(n.outputs[0]);
    const xnn::ConvParams& c = n.conv;
    min_ = n.output_min_max ? (*n.output_min_max)[0] : -INFINITY;
    max_ = n.output_min_max ? (*n.output_min_max)[1] : INFINITY;
    size_t dims[kMaxXnnRank] = {}, dims2[kMaxXnnRank] = {};
    for (size_t i = 0; i < std::min(n.dims.size(), kMaxXnnRank); ++i) dims[i] = n.dims[i];
    for (size_t i = 0; i < std::min(n.dims2.size(), kMaxXnnRank); ++i) dims2[i] = n.dims2[i];
    xnn_unary_params p{};
    switch (n.kind) {
      case NodeKind::kAdd: return binary(n, xnn_binary_add);
      case NodeKind::kSubtract: return binary(n, xnn_binary_subtract);
      case NodeKind::kMultiply: return binary(n, xnn_binary_multiply);
      case NodeKind::kDiv: return binary(n, xnn_binary_divide);
      case NodeKind::kMinimum: return binary(n, xnn_binary_minimum);
      case NodeKind::kMaximum: return binary(n, xnn_binary_maximum);
      case NodeKind::kPrelu: return binary(n, xnn_binary_prelu);
      case NodeKind::kClamp:
        p.clamp.min = min_;
        p.clamp.max = max_;
        return unary(n, xnn_unary_clamp, &p);
      case NodeKind::kLeakyRelu: p.leaky_relu.negative_slope = n.value; return unary(n, xnn_unary_leaky_relu, &p);
      case NodeKind::kElu: p.elu.alpha = n.value; return unary(n, xnn_unary_elu, &p);
      case NodeKind::kSigmoid: return unary(n, xnn_unary_sigmoid);
      case NodeKind::kFloor: return unary(n, xnn_unary_floor);
      case NodeKind::kConvert: return unary(n, xnn_unary_convert);
      case NodeKind::kSquareRoot: return unary(n, xnn_unary_square_root);
      case NodeKind::kReciprocalSquareRoot: return unary(n, xnn_unary_reciprocal_square_root);
      case NodeKind::kCeiling: return unary(n, xnn_unary_ceiling);
      case NodeKind::kHardswish: return unary(n, xnn_unary_hardswish);
      case NodeKind::kNegate: return unary(n, xnn_unary_negate);
      case NodeKind::kSquare: return unary(n, xnn_unary_square);
      case NodeKind::kAbs: return unary(n, xnn_unary_abs);
      case NodeKind::kLog: return unary(n, xnn_unary_log);
      case NodeKind::kGelu: return unary(n, xnn_unary_gelu);
      case NodeKind::kTanh: return unary(n, xnn_unary_tanh);
      case NodeKind::kExp: return unary(n, xnn_unary_exp);
      case NodeKind::kSin: return unary(n, xnn_unary_sine);
      case NodeKind::kCos: return unary(n, xnn_unary_cosine);
      case NodeKind::kCopy: return xnn_define_copy(s_, in(0), out, n.flags);
      case NodeKind::kSoftmax: return xnn_define_softmax(s_, in(0), out, n.flags);
      case NodeKind::kFullyConnected:
        return xnn_define_fully_connected(s_, min_, max_, in(0), in(1), in(2), out, n.flags);
      case NodeKind::kBatchMatrixMultiply: return xnn_define_batch_matrix_multiply(s_, in(0), in(1), out, n.flags);
      case NodeKind::kConv2d:
        return xnn_define_convolution_2d(s_, c.padding_top, c.padding_right, c.padding_bottom, c.padding_left,
                                         c.kernel_height, c.kernel_width, c.stride_height, c.stride_width,
                                         c.dilation_height, c.dilation_width, c.groups, c.group_input_channels,
                                         c.group_output_channels, min_, max_, in(0), in(1), in(2), out, n.flags);
      case NodeKind::kDepthwiseConv2d:
        return xnn_define_depthwise_convolution_2d(s_, c.padding_top, c.padding_right, c.padding_bottom, c.padding_left,
                                                   c.kernel_height, c.kernel_width, c.stride_height, c.stride_width,
                                                   c.dilation_height, c.dilation_width, c.group_output_channels,
                                                   c.groups, min_, max_, in(0), in(1), in(2), out, n.flags);
      case NodeKind::kConvTranspose2d:
        return xnn_define_deconvolution_2d(s_, c.padding_top, c.padding_right, c.padding_bottom, c.padding_left,
                                           c.adjustment_height, c.adjustment_width, c.kernel_height, c.kernel_width,
                                           c.stride_height, c.stride_width, c.dilation_height, c.dilation_width,
                                           c.groups, c.group_input_channels, c.group_output_channels, min_, max_, in(0),
                                           in(1), in(2), out, n.flags);
      case NodeKind::kAvgPooling2d:
        return xnn_define_average_pooling_2d(s_, c.padding_top, c.padding_right, c.padding_bottom, c.padding_left,
                                             c.kernel_height, c.kernel_width, c.stride_height, c.stride_width, min_,
                                             max_, in(0), out, n.flags & ~XNN_FLAG_KEEP_DIMS);
      case NodeKind::kMaxPooling2d:
        return xnn_define_max_pooling_2d(s_, c.padding_top, c.padding_right, c.padding_bottom, c.padding_left,
                                         c.kernel_height, c.kernel_width, c.stride_height, c.stride_width,
                                         c.dilation_height, c.dilation_width, min_, max_, in(0), out,
                                         n.flags & ~XNN_FLAG_KEEP_DIMS);
      case NodeKind::kArgMaxPooling2d:
        return xnn_define_argmax_pooling_2d(s_, c.padding_top, c.padding_right, c.padding_bottom, c.padding_left,
                                            c.kernel_height, c.kernel_width, in(0), out, id(n.outputs[1]), n.flags);
      case NodeKind::kGlobalAvgPooling2d: {
        const bool keep = g_.values[shapes_.index_of(n.outputs[0])].dims.size() == 4;
        const size_t axes[] = {1, 2};
        const uint32_t flags = keep ? XNN_FLAG_KEEP_DIMS : 0;
        if (!n.output_min_max) return xnn_define_static_reduce(s_, xnn_reduce_mean, 2, axes, in(0), out, flags);
        // A reduction has no bounds of its own.
        xnn::Value free = g_.values[shapes_.index_of(n.outputs[0])];
        free.external_id = XNN_INVALID_VALUE_ID;
        free.flags = 0;
        uint32_t mean = XNN_INVALID_VALUE_ID;
        if (const auto s = define(free, mean); s != xnn_status_success) return s;
        if (const auto s = xnn_define_static_reduce(s_, xnn_reduce_mean, 2, axes, in(0), mean, flags);
            s != xnn_status_success)
          return s;
        p.clamp.min = min_;
        p.clamp.max = max_;
        return xnn_define_unary(s_, xnn_unary_clamp, &p, mean, out, 0);
      }
      case NodeKind::kStaticTranspose: return xnn_define_static_transpose(s_, n.dims.size(), dims, in(0), out, n.flags);
      case NodeKind::kStaticReshape: return xnn_define_static_reshape(s_, n.dims.size(), dims, in(0), out, n.flags);
      case NodeKind::kStaticResizeBilinear2d:
        return xnn_define_static_resize_bilinear_2d(s_, dims[0], dims[1], in(0), out, n.flags);
      case NodeKind::kStaticConstantPad:
        return xnn_define_static_constant_pad(s_, dims, dims2, n.value, in(0), out, n.flags);
      case NodeKind::kStaticSlice: return xnn_define_static_slice(s_, n.dims.size(), dims, dims2, in(0), out, n.flags);
      case NodeKind::kConcatenate2: return xnn_define_concatenate2(s_, axis(n), in(0), in(1), out, n.flags);
      case NodeKind::kConcatenate3: return xnn_define_concatenate3(s_, axis(n), in(0), in(1), in(2), out, n.flags);
      case NodeKind::kConcatenate4:
        return xnn_define_concatenate4(s_, axis(n), in(0), in(1), in(2), in(3), out, n.flags);
      case NodeKind::kConcatenate5:
        return xnn_define_concatenate5(s_, axis(n), in(0), in(1), in(2), in(3), in(4), out, n.flags);
      case NodeKind::kScaledDotProductAttention:
        return xnn_define_scaled_dot_product_attention(s_, xnn_attention_logits_cap_type_none, nullptr, in(0), in(1),
                                                       in(2), in(3), in(4), out, n.flags);
    }
    return xnn_status_unsupported_parameter;
  }
  static int32_t axis(const xnn::Node& n) { return static_cast<int32_t>(n.axis); }

  const xnn::Graph& g_;
  const XnnShapes& shapes_;
  const Constants& constants_;
  xnn_subgraph_t s_ = nullptr;
  std::vector<uint32_t> ids_;                        // by value
  std::vector<std::vector<uint16_t>> group_scales_;  // until the runtime has packed them
  float min_ = 0, max_ = 0;
};

class XnnDelegate final : public Delegate {
 public:
  explicit XnnDelegate(Bytes file) : constants_(file) {}

  Result<void> load(Bytes payload, const NamedDataSource& named, xnn_workspace_t workspace, pthreadpool* pool,
                    bool profile) {
    EW_ASSIGN(graph_, xnn::parse(payload));
    EW_TRY(constants_.load(graph_, named));
    EW_ASSIGN(auto shapes, XnnShapes::make(graph_));
    shapes_.emplace(std::move(shapes));
    for (uint32_t i = 0; i < graph_.values.size(); ++i) {
      const xnn::Value& v = graph_.values[i];
      if (v.external_id != xnn::kInvalidId)
        externals_.push_back({i, v.external_id, (v.flags & xnn::kExternalInput) != 0});
    }
    setup_.resize(externals_.size());
    // The declared shapes must agree with each other: packing relies on filters being what nodes say.
    for (const External& e : externals_) {
      if (!e.input) continue;
      XnnShape s;
      s.known = true;
      for (uint32_t d : graph_.values[e.value].dims) s.dims[s.rank++] = d;
      shapes_->set_input(e.value, s);
    }
    EW_TRY(shapes_->infer());
    Definer definer(graph_, *shapes_, constants_);
    EW_ASSIGN(Subgraph subgraph, definer.run());
    if (shares_weights(graph_)) {  // packed once instead of once per node
      xnn_weights_cache_t cache = nullptr;
      if (const auto s = xnn_create_weights_cache(&cache); s != xnn_status_success)
        return fail(Code::kInternal, "XNNPACK: no weights cache: {}", text(s));
      cache_.reset(cache);
    }
    xnn_runtime_t raw = nullptr;
    profiled_ = profile;
    const uint32_t flags = profile ? XNN_FLAG_BASIC_PROFILING : 0;
    if (const auto s = xnn_create_runtime_v4(subgraph.get(), cache_.get(), workspace, pool, flags, &raw);
        s != xnn_status_success)
      return fail(Code::kUnsupported, "XNNPACK makes no runtime of the graph: {}", text(s));
    runtime_.reset(raw);
    if (cache_)
      if (const auto s = xnn_finalize_weights_cache(cache_.get(), xnn_weights_cache_finalization_kind_hard);
          s != xnn_status_success)
        return fail(Code::kInternal, "XNNPACK: weights cache: {}", text(s));
    return {};
  }

  Result<void> prepare(std::span<EValue* const> args) override {
    for (const External& e : externals_)
      if (e.id >= args.size())
        return fail(Code::kMalformed, "external value {} of a call with {} arguments", e.id, args.size());
    // Without a bound there are no sizes to prepare for.
    for (const EValue* v : args)
      if (v->tag == Tag::kTensor && v->tensor->dynamism == Dynamism::kUnbound) return {};
    return bind(args);
  }

  Result<void> run(std::span<EValue* const> args) override {
    EW_TRY(bind(args));
    if (empty_) return {};
    if (const auto s = xnn_invoke_runtime(runtime_.get()); s != xnn_status_success)
      return fail(Code::kInternal, "XNNPACK: {}", text(s));
    // Indices leave XNNPACK as 32-bit numbers; widened in place, from the end.
    for (const External& e : externals_) {
      const Tensor& t = *args[e.id]->tensor;
      if (e.input || t.dtype != DType::i64) continue;
      for (int64_t i = t.numel(); i-- > 0;) {
        int32_t v;
        std::memcpy(&v, t.data + i * 4, 4);
        const int64_t wide = v;
        std::memcpy(t.data + i * 8, &wide, 8);
      }
    }
    return {};
  }

  std::vector<std::pair<std::string, double>> profile() const override {
    std::vector<std::pair<std::string, double>> out;
    if (!profiled_ || empty_) return out;
    // Names come one after another, each ended by a zero; times are microseconds.
    const auto ask = [&](xnn_profile_info what, auto* data, size_t count) {
      size_t needed = 0;
      return xnn_get_runtime_profiling_info(runtime_.get(), what, count * sizeof(*data), data, &needed) ==
             xnn_status_success;
    };
    size_t count = 0, length = 0;
    if (!ask(xnn_profile_info_num_operators, &count, 1)) return out;
    xnn_get_runtime_profiling_info(runtime_.get(), xnn_profile_info_operator_name, 0, nullptr, &length);
    std::vector<char> names(length);
    std::vector<uint64_t> microseconds(count);
    if (!ask(xnn_profile_info_operator_name, names.data(), names.size()) ||
        !ask(xnn_profile_info_operator_timing, microseconds.data(), count))
      return out;
    auto at = names.begin();
    for (size_t i = 0; i < count && at != names.end(); ++i) {
      const auto end = std::find(at, names.end(), '\0');
      out.emplace_back(std::string(at, end), static_cast<double>(microseconds[i]) / 1000);
      at = end == names.end() ? end : end + 1;
    }
    return out;
  }

 private:
  struct External {
    uint32_t value;  // index into graph_.values
    uint32_t id;     // position among the arguments
    bool input;
    XnnShape shape{};  // that the runtime has now
  };

  // Brings the runtime to the shapes and addresses of these arguments; nothing to do when they are those of the last call.
  Result<void> bind(std::span<EValue* const> args) {
    bool reshape = !shaped_, moved = !shaped_;
    for (size_t i = 0; i < externals_.size(); ++i) {
      External& e = externals_[i];
      const EValue& v = *args[e.id];
      if (v.tag != Tag::kTensor) return fail(Code::kMalformed, "argument {} is no tensor", e.id);
      const Tensor& t = *v.tensor;
      if (!same_type(graph_.values[e.value].datatype, t.dtype, !e.input))
        return fail(Code::kMalformed, "argument {} is {}, which is not the datatype of its value", e.id, name(t.dtype));
      if (!e.input && !t.writable)
        return fail(Code::kMalformed, "argument {} is a constant, and would be written", e.id);
      if (t.rank > kMaxXnnRank) return fail(Code::kMalformed, "argument {} has {} dimensions", e.id, t.rank);
      if (setup_[i].data != t.data) moved = true;
      setup_[i] = {e.id, t.data};
      if (!e.input) continue;
      XnnShape s;
      s.known = true;
      s.rank = t.rank;
      for (uint8_t d = 0; d < t.rank; ++d) s.dims[d] = t.sizes[t.order[d]];
      if (t.rank == 0 && graph_.values[e.value].dims.size() == 1)
        s.dims[s.rank++] = 1;  // stock stores scalars as one element
      if (s == e.shape) continue;
      reshape = true;
      shaped_ = false;
      e.shape = s;
      shapes_->set_input(e.value, s);
    }
    if (reshape) {
      // Until this has succeeded the runtime is in no known state.
      for (const External& e : externals_)
        if (e.input && e.shape.rank != graph_.values[e.value].dims.size())
          return fail(Code::kUsage, "argument {} has {} dimensions, the delegate wants {}", e.id, e.shape.rank,
                      graph_.values[e.value].dims.size());
      EW_TRY(shapes_->infer());
      empty_ = false;
      bool outputs_empty = true;
      for (uint32_t i = 0; i < graph_.values.size(); ++i)
        if (shapes_->shape(i).known) empty_ = empty_ || shapes_->shape(i).numel() == 0;
      for (const External& e : externals_)
        outputs_empty = outputs_empty && (e.input || shapes_->shape(e.value).numel() == 0);
      if (empty_ && !outputs_empty) return fail(Code::kUnsupported, "an empty tensor inside of a delegate");
    }
    EW_TRY(resize_outputs(args, moved));
    if (empty_) {
      shaped_ = true;
      return {};
    }
    if (reshape) {
      for (const External& e : externals_) {
        if (!e.input) continue;
        size_t dims[kMaxXnnRank];
        for (uint8_t d = 0; d < e.shape.rank; ++d) dims[d] = static_cast<size_t>(e.shape.dims[d]);
        if (const auto s = xnn_reshape_external_value(runtime_.get(), e.id, e.shape.rank, dims);
            s != xnn_status_success)
          return fail(Code::kInternal, "XNNPACK does not reshape argument {}: {}", e.id, text(s));
      }
      if (const auto s = xnn_reshape_runtime(runtime_.get()); s != xnn_status_success)
        return fail(Code::kUnsupported, "XNNPACK does not take these shapes: {}", text(s));
      for (const External& e : externals_) {
        if (e.input) continue;
        size_t rank = 0, dims[kMaxXnnRank] = {};
        const XnnShape& s = shapes_->shape(e.value);
        bool same =
            xnn_get_external_value_shape(runtime_.get(), e.id, &rank, dims) == xnn_status_success && rank == s.rank;
        for (size_t d = 0; same && d < rank; ++d) same = dims[d] == static_cast<size_t>(s.dims[d]);
        if (!same) return fail(Code::kInternal, "XNNPACK gives output {} another shape than expected", e.id);
      }
    }
    if (reshape || moved) {
      if (const auto s = xnn_setup_runtime_v2(runtime_.get(), setup_.size(), setup_.data()); s != xnn_status_success)
        return fail(Code::kInternal, "XNNPACK: setup: {}", text(s));
      shaped_ = true;
    }
    return {};
  }

  Result<void> resize_outputs(std::span<EValue* const> args, bool& moved) {
    for (size_t i = 0; i < externals_.size(); ++i) {
      const External& e = externals_[i];
      if (e.input) continue;
      Tensor& t = *args[e.id]->tensor;
      const XnnShape& s = shapes_->shape(e.value);
      if (t.rank == 0 && s.numel() == 1) continue;
      if (t.rank != s.rank)
        return fail(Code::kMalformed, "output {} has {} dimensions, the delegate gives {}", e.id, t.rank, s.rank);
      int64_t sizes[kMaxXnnRank] = {};
      for (uint8_t d = 0; d < s.rank; ++d) sizes[t.order[d]] = s.dims[d];
      const char* why;
      if (!resize_tensor(t, {sizes, s.rank}, &why)) return fail(Code::kUsage, "output {}: {}", e.id, why);
      moved = moved || setup_[i].data != t.data;  // an unbounded tensor may have been moved
      setup_[i].data = t.data;
    }
    return {};
  }

  Constants constants_;
  xnn::Graph graph_;
  std::optional<XnnShapes> shapes_;
  std::vector<External> externals_;
  std::vector<xnn_external_value> setup_;  // parallel to externals_
  bool profiled_ = false;
  bool shaped_ = false;  // the runtime has the shapes of externals_ and the addresses of setup_
  bool empty_ = false;   // nothing to compute at these shapes
  Cache cache_;          // outlives the runtime, which reads from it
  Runtime runtime_;
};

class XnnState final : public BackendState {
 public:
  XnnState(xnn_workspace_t workspace, pthreadpool* pool, Bytes file, bool profile)
      : workspace_(workspace), pool_(pool), file_(file), profile_(profile) {}
  ~XnnState() override { xnn_release_workspace(workspace_); }
  Result<std::unique_ptr<Delegate>> load(Bytes payload, const NamedDataSource& named) override {
    auto d = std::make_unique<XnnDelegate>(file_);
    EW_TRY(d->load(payload, named, workspace_, pool_, profile_));
    return d;
  }

 private:
  xnn_workspace_t workspace_;  // shared: delegates of a program run one after the other
  pthreadpool* pool_;
  Bytes file_;
  bool profile_;
};

}  // namespace

Result<std::unique_ptr<BackendState>> make_backend(std::string_view id, pthreadpool* pool, Bytes file, bool profile) {
  if (id != "XnnpackBackend") return fail(Code::kUnsupported, "no backend '{}'", id);
  if (const auto s = xnn_initialize(nullptr); s != xnn_status_success)
    return fail(Code::kUnsupported, "XNNPACK does not run on this machine: {}", text(s));
  xnn_workspace_t workspace = nullptr;
  if (const auto s = xnn_create_workspace(&workspace); s != xnn_status_success)
    return fail(Code::kInternal, "XNNPACK: no workspace: {}", text(s));
  return std::make_unique<XnnState>(workspace, pool, file, profile);
}

}  // namespace edgewright::runtime
