#include "format/xnn_payload.h"

#include "format/flat.h"
#include "format/xnnpack_generated.h"

namespace edgewright::xnn {
namespace {

constexpr size_t kHeaderLength = 30;
constexpr size_t kPaddedHeader = 32;
constexpr uint64_t kNotHere = UINT64_MAX;  // a constant's offset where named data holds it
constexpr uint32_t kMaxRank = 16;

using fb::AnyNode;

// Which flatbuffer table a node kind is stored as.
enum class Shape {
  kUnary,
  kBinary,
  kCat,
  kConv,
  kPool,
  kArgMaxPool,
  kFullyConnected,
  kTranspose,
  kResize,
  kPad,
  kReshape,
  kSlice,
  kAttention,
  kLeakyRelu,
  kElu
};

struct KindInfo {
  const char* name;
  Shape shape;
  uint8_t inputs;  // how many the node has
};

constexpr KindInfo kKinds[] = {
    {"Add", Shape::kBinary, 2},
    {"FullyConnected", Shape::kFullyConnected, 3},
    {"Softmax", Shape::kUnary, 1},
    {"Sigmoid", Shape::kUnary, 1},
    {"StaticTranspose", Shape::kTranspose, 1},
    {"Clamp", Shape::kUnary, 1},
    {"Conv2d", Shape::kConv, 3},
    {"Div", Shape::kBinary, 2},
    {"StaticResizeBilinear2D", Shape::kResize, 1},
    {"StaticConstantPad", Shape::kPad, 1},
    {"AvgPooling2d", Shape::kPool, 1},
    {"Minimum", Shape::kBinary, 2},
    {"DepthwiseConv2d", Shape::kConv, 3},
    {"MaxPooling2d", Shape::kPool, 1},
    {"Multiply", Shape::kBinary, 2},
    {"Subtract", Shape::kBinary, 2},
    {"Floor", Shape::kUnary, 1},
    {"Convert", Shape::kUnary, 1},
    {"GlobalAvgPooling2d", Shape::kUnary, 1},
    {"StaticReshape", Shape::kReshape, 1},
    {"ArgMaxPooling2d", Shape::kArgMaxPool, 1},
    {"SquareRoot", Shape::kUnary, 1},
    {"Ceiling", Shape::kUnary, 1},
    {"Hardswish", Shape::kUnary, 1},
    {"LeakyReLU", Shape::kLeakyRelu, 1},
    {"Maximum", Shape::kBinary, 2},
    {"Negate", Shape::kUnary, 1},
    {"Square", Shape::kUnary, 1},
    {"ELU", Shape::kElu, 1},
    {"Abs", Shape::kUnary, 1},
    {"PReLU", Shape::kBinary, 2},
    {"Concatenate2", Shape::kCat, 2},
    {"Concatenate3", Shape::kCat, 3},
    {"Concatenate4", Shape::kCat, 4},
    {"StaticSlice", Shape::kSlice, 1},
    {"ScaledDotProductAttention", Shape::kAttention, 5},
    {"BatchMatrixMultiply", Shape::kBinary, 2},
    {"Concatenate5", Shape::kCat, 5},
    {"ConvTranspose2d", Shape::kConv, 3},
    {"ReciprocalSquareRoot", Shape::kUnary, 1},
    {"Log", Shape::kUnary, 1},
    {"Gelu", Shape::kUnary, 1},
    {"Tanh", Shape::kUnary, 1},
    {"Exp", Shape::kUnary, 1},
    {"Sin", Shape::kUnary, 1},
    {"Copy", Shape::kUnary, 1},
    {"Cos", Shape::kUnary, 1},
};
constexpr size_t kKindCount = std::size(kKinds);
static_assert(kKindCount == static_cast<size_t>(NodeKind::kCos) && kKindCount == static_cast<size_t>(AnyNode::MAX));

const KindInfo& info(NodeKind k) { return kKinds[static_cast<size_t>(k) - 1]; }

class Parser {
 public:
  explicit Parser(Bytes payload) : payload_(payload), budget_(payload.size()) {}

  Result<Graph> run() {
    EW_TRY(locate());
    std::unique_ptr<std::byte[]> copy;
    const Bytes flat = flat::aligned(flat_, copy);
    if (flat.size() < 8 ||
        (std::memcmp(flat.data() + 4, "XN01", 4) != 0 && std::memcmp(flat.data() + 4, "XN00", 4) != 0))
      return fail(Code::kMalformed, "not an XNNPACK payload: no identifier XN01 or XN00");
    if (!flat::verify<fb::Graph>(flat)) return fail(Code::kMalformed, "the payload's flatbuffer does not verify");
    const fb::Graph* root = fb::GetGraph(flat.data());
    Graph g;
    EW_TRY(spend(root->version() ? root->version()->size() : 0));
    g.version = flat::str(root->version());
    g.num_externs = root->num_externs();
    EW_TRY(this->copy(root->input_ids(), g.input_ids));
    EW_TRY(this->copy(root->output_ids(), g.output_ids));
    EW_TRY(constants(*root, flat, g));
    for (uint32_t i = 0; i < flat::count(root->values()); ++i) {
      EW_TRY(spend(sizeof(Value)));
      Value v;
      if (auto r = value(*root->values()->Get(i), g, v); !r)
        return with_note(std::move(r.error()), fmt::format("XNNPACK value {}", i));
      g.values.push_back(std::move(v));
    }
    for (uint32_t i = 0; i < flat::count(root->nodes()); ++i) {
      EW_TRY(spend(sizeof(Node)));
      Node n;
      if (auto r = node(*root->nodes()->Get(i), n); !r)
        return with_note(std::move(r.error()), fmt::format("XNNPACK node {}", i));
      g.nodes.push_back(std::move(n));
    }
    return g;
  }

 private:
  Result<void> spend(uint64_t bytes) {
    if (!budget_.take(bytes)) return fail(Code::kMalformed, "the payload's tables are shared beyond reason");
    return {};
  }
  template <class Out, class T>
  Result<void> copy(const flatbuffers::Vector<T>* from, std::vector<Out>& to) {
    if (!flat::copy(from, to, budget_)) return spend(UINT64_MAX);
    return {};
  }

  Result<void> locate() {
    flat_ = payload_;
    if (payload_.size() < kHeaderLength || std::memcmp(payload_.data() + 4, "XH00", 4) != 0) {
      if (payload_.size() >= flat::kMaxFlatbuffer)
        return fail(Code::kMalformed, "payload of {} bytes without a header", payload_.size());
      return {};
    }
    uint16_t length;
    std::memcpy(&length, payload_.data() + 8, 2);
    if (length < kHeaderLength) return fail(Code::kMalformed, "payload header of {} bytes", length);
    const uint64_t flat_at = flat::u32_at(payload_, 10), flat_size = flat::u32_at(payload_, 14);
    const uint64_t const_at = flat::u32_at(payload_, 18), const_size = flat::u64_at(payload_, 22);
    if (flat_at + flat_size > payload_.size() || flat_size >= flat::kMaxFlatbuffer)
      return fail(Code::kMalformed, "truncated: payload flatbuffer of {} bytes at {}, the payload has {}", flat_size,
                  flat_at, payload_.size());
    if (const_at > payload_.size() || const_size > payload_.size() - const_at)
      return fail(Code::kMalformed, "truncated: payload constants of {} bytes at {}, the payload has {}", const_size,
                  const_at, payload_.size());
    flat_ = payload_.subspan(flat_at, flat_size);
    constants_ = payload_.subspan(const_at, const_size);
    return {};
  }

  Result<void> constants(const fb::Graph& root, Bytes flat, Graph& g) {
    EW_TRY(spend(sizeof(Constant) * (uint64_t{flat::count(root.constants())} + flat::count(root.inline_constants()))));
    if (flat::count(root.constants()) > 0 && flat::count(root.inline_constants()) > 0)
      return fail(Code::kMalformed, "constants both inline and behind the header");
    for (uint32_t i = 0; i < flat::count(root.inline_constants()); ++i) {
      const auto* bytes = root.inline_constants()->Get(i)->bytes();
      Constant c;
      if (flat::count(bytes) > 0)  // the bytes of the payload itself: `flat` may be a copy
        c.data = flat_.subspan(static_cast<size_t>(reinterpret_cast<const std::byte*>(bytes->data()) - flat.data()),
                               bytes->size());
      c.size = c.data.size();
      g.constants.push_back(std::move(c));
    }
    for (uint32_t i = 0; i < flat::count(root.constants()); ++i) {
      const fb::Constant* from = root.constants()->Get(i);
      Constant c;
      c.size = from->size();
      EW_TRY(spend(from->named_key() ? from->named_key()->size() : 0));
      c.named_key = flat::str(from->named_key());
      if (c.named_key.empty() && i > 0) {
        if (from->offset() > constants_.size() || from->size() > constants_.size() - from->offset())
          return fail(Code::kMalformed, "truncated: payload constant {} is {} bytes at {}, of {}", i, from->size(),
                      from->offset(), constants_.size());
        c.data = constants_.subspan(from->offset(), from->size());
      } else if (!c.named_key.empty() && from->offset() != kNotHere) {
        return fail(Code::kMalformed, "payload constant {} has both a name and an offset", i);
      }
      g.constants.push_back(std::move(c));
    }
    return {};
  }

  Result<void> constant_index(uint32_t i, const Graph& g) const {
    if (i > 0 && i >= g.constants.size()) return fail(Code::kMalformed, "no constant {}", i);
    return {};
  }

  Result<void> tensor(const fb::TensorValue& from, const Graph& g, Value& v) {
    const auto known = [](int16_t d) { return d >= 0 && d <= kLastDatatype; };
    if (!known(from.datatype()) || !known(from.dynamic_datatype()))
      return fail(Code::kMalformed, "unknown datatype {}", from.datatype());
    v.datatype = static_cast<Datatype>(from.datatype());
    v.dynamic_datatype = static_cast<Datatype>(from.dynamic_datatype());
    EW_TRY(copy(from.dims(), v.dims));
    if (v.dims.size() != from.num_dims() || v.dims.size() > kMaxRank)
      return fail(Code::kMalformed, "{} dims, {} told", v.dims.size(), from.num_dims());
    v.constant = from.constant();
    EW_TRY(constant_index(v.constant, g));
    v.external_id = from.external_id();
    v.flags = from.flags();
    v.id = from.id();
    return {};
  }

  Result<void> value(const fb::Value& from, const Graph& g, Value& v) {
    if (!from.value()) return fail(Code::kMalformed, "no content");
    if (from.value_type() == fb::AnyValue::TensorValue) return tensor(*from.value_as_TensorValue(), g, v);
    if (from.value_type() != fb::AnyValue::QuantizedValue) return fail(Code::kMalformed, "unknown kind of value");
    const fb::QuantizedValue& q = *from.value_as_QuantizedValue();
    if (!q.tensor() || !q.quant()) return fail(Code::kMalformed, "quantized value without tensor or parameters");
    EW_TRY(tensor(*q.tensor(), g, v));
    switch (q.quant_type()) {
      case fb::Quant::TensorQuant:
        v.quant = TensorQuant{q.quant_as_TensorQuant()->scale(), q.quant_as_TensorQuant()->zero_point()};
        return {};
      case fb::Quant::TokenDynamicQuant:
        v.quant = TokenDynamicQuant{q.quant_as_TokenDynamicQuant()->num_nonbatch_dims()};
        return {};
      case fb::Quant::ChannelQuant: {
        const fb::ChannelQuant& c = *q.quant_as_ChannelQuant();
        ChannelQuant to{
            .channel_dim = c.channel_dim(), .scale_constant = c.scale_constant(), .num_scales = c.num_scales()};
        EW_TRY(copy(c.scale(), to.scale));
        EW_TRY(constant_index(to.scale_constant, g));
        v.quant = std::move(to);
        return {};
      }
      case fb::Quant::ChannelGroupQuant: {
        const fb::ChannelGroupQuant& c = *q.quant_as_ChannelGroupQuant();
        ChannelGroupQuant to{.channel_dim = c.channel_dim(),
                             .group_size = c.group_size(),
                             .scale_constant = c.scale_constant(),
                             .num_scales = c.num_scales()};
        EW_TRY(copy(c.scale(), to.scale));
        EW_TRY(constant_index(to.scale_constant, g));
        v.quant = std::move(to);
        return {};
      }
      case fb::Quant::NONE: break;
    }
    return fail(Code::kMalformed, "unknown kind of quantization parameters");
  }

  // Takes a list whose length the table tells a second time.
  template <class T>
  Result<void> dims(const flatbuffers::Vector<T>* from, uint32_t told, std::vector<uint32_t>& to) {
    if (flat::count(from) != told || told > kMaxRank)
      return fail(Code::kMalformed, "list of {} dims, {} told", flat::count(from), told);
    return copy(from, to);
  }

  Result<void> node(const fb::Node& from, Node& n) {
    const auto tag = static_cast<size_t>(from.node_type());
    if (tag == 0 || tag > kKindCount || !from.node()) return fail(Code::kMalformed, "unknown kind of node {}", tag);
    n.kind = static_cast<NodeKind>(tag);
    n.debug_handle = from.debug_handle();
    if (const fb::MinMax* m = from.output_min_max()) n.output_min_max = {m->min(), m->max()};
    const auto as = [&]<class T>(std::type_identity<T>) -> const T& { return *static_cast<const T*>(from.node()); };
    switch (info(n.kind).shape) {
      case Shape::kUnary: {
        const auto& t = as(std::type_identity<fb::Unary>{});
        n.inputs = {t.input()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        break;
      }
      case Shape::kBinary: {
        const auto& t = as(std::type_identity<fb::Binary>{});
        n.inputs = {t.input1(), t.input2()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        break;
      }
      case Shape::kCat: {
        const auto& t = as(std::type_identity<fb::Cat>{});
        n.inputs = {t.input1(), t.input2(), t.input3(), t.input4(), t.input5()};
        n.inputs.resize(info(n.kind).inputs);
        n.outputs = {t.output()};
        n.axis = t.axis();
        n.flags = t.flags();
        break;
      }
      case Shape::kConv: {
        const auto& t = as(std::type_identity<fb::Conv>{});
        n.inputs = {t.input(), t.filter(), t.bias()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        n.conv = {t.padding_top(),     t.padding_right(),     t.padding_bottom(),       t.padding_left(),
                  t.kernel_height(),   t.kernel_width(),      t.stride_height(),        t.stride_width(),
                  t.dilation_height(), t.dilation_width(),    t.group_input_channels(), t.group_output_channels(),
                  t.groups(),          t.adjustment_height(), t.adjustment_width()};
        break;
      }
      case Shape::kPool: {
        const auto& t = as(std::type_identity<fb::Pool>{});
        n.inputs = {t.input()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        n.conv = {t.padding_top(),  t.padding_right(), t.padding_bottom(), t.padding_left(),    t.kernel_height(),
                  t.kernel_width(), t.stride_height(), t.stride_width(),   t.dilation_height(), t.dilation_width()};
        break;
      }
      case Shape::kArgMaxPool: {
        const auto& t = as(std::type_identity<fb::ArgMaxPool>{});
        n.inputs = {t.input()};
        n.outputs = {t.output(), t.output_index()};
        n.flags = t.flags();
        n.conv = {t.padding_top(),  t.padding_right(), t.padding_bottom(),
                  t.padding_left(), t.kernel_height(), t.kernel_width()};
        break;
      }
      case Shape::kFullyConnected: {
        const auto& t = as(std::type_identity<fb::FullyConnected>{});
        n.inputs = {t.input(), t.filter(), t.bias()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        break;
      }
      case Shape::kTranspose: {
        const auto& t = as(std::type_identity<fb::Transpose>{});
        n.inputs = {t.input()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        return dims(t.perm(), t.num_dims(), n.dims);
      }
      case Shape::kResize: {
        const auto& t = as(std::type_identity<fb::ResizeBilinear>{});
        n.inputs = {t.input()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        n.dims = {t.height(), t.width()};
        break;
      }
      case Shape::kPad: {
        const auto& t = as(std::type_identity<fb::ConstantPad>{});
        n.inputs = {t.input()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        n.value = t.value();
        EW_TRY(dims(t.before(), flat::count(t.after()), n.dims));
        return dims(t.after(), flat::count(t.before()), n.dims2);
      }
      case Shape::kReshape: {
        const auto& t = as(std::type_identity<fb::Reshape>{});
        n.inputs = {t.input()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        return dims(t.shape(), t.num_dims(), n.dims);
      }
      case Shape::kSlice: {
        const auto& t = as(std::type_identity<fb::Slice>{});
        n.inputs = {t.input()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        EW_TRY(dims(t.offsets(), t.num_dims(), n.dims));
        return dims(t.sizes(), t.num_dims(), n.dims2);
      }
      case Shape::kAttention: {
        const auto& t = as(std::type_identity<fb::Attention>{});
        n.inputs = {t.query(), t.key(), t.value(), t.scale(), t.mask()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        break;
      }
      case Shape::kLeakyRelu: {
        const auto& t = as(std::type_identity<fb::LeakyRelu>{});
        n.inputs = {t.input()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        n.value = t.slope();
        break;
      }
      case Shape::kElu: {
        const auto& t = as(std::type_identity<fb::Elu>{});
        n.inputs = {t.input()};
        n.outputs = {t.output()};
        n.flags = t.flags();
        n.value = t.alpha();
        break;
      }
    }
    return {};
  }

  Bytes payload_, flat_, constants_;
  flat::Budget budget_;
};

class Builder {
 public:
  explicit Builder(const Graph& g) : g_(g) {}

  Result<Pieces> run() {
    Pieces data;
    std::vector<flatbuffers::Offset<fb::Constant>> constants;
    for (size_t i = 0; i < std::max<size_t>(g_.constants.size(), 1); ++i) {
      uint64_t offset = kNotHere, size = 0;
      std::string_view key;
      if (i > 0) {
        const Constant& c = g_.constants[i];
        key = c.named_key;
        size = key.empty() ? c.data.size() : c.size;
        if (key.empty()) {
          data.pad_to(kConstantAlignment);
          offset = data.size();
          data.borrow(c.data);
        }
      }
      // Stock takes a key that is there, be it empty, for the name of named data.
      constants.push_back(
          fb::CreateConstant(b_, offset, size, key.empty() ? 0 : b_.CreateString(key.data(), key.size())));
    }
    std::vector<flatbuffers::Offset<fb::Value>> values;
    for (const Value& v : g_.values) values.push_back(build_value(v));
    std::vector<flatbuffers::Offset<fb::Node>> nodes;
    for (size_t i = 0; i < g_.nodes.size(); ++i) {
      const Node& n = g_.nodes[i];
      const size_t outputs = n.kind == NodeKind::kArgMaxPooling2d ? 2 : 1;
      if (n.inputs.size() != info(n.kind).inputs || n.outputs.size() != outputs)
        return fail(Code::kInternal, "XNNPACK node {} ({}) has {} inputs and {} outputs", i, name(n.kind),
                    n.inputs.size(), n.outputs.size());
      const auto table = build_node(n);
      flatbuffers::Offset<fb::MinMax> min_max;
      if (n.output_min_max) min_max = fb::CreateMinMax(b_, (*n.output_min_max)[0], (*n.output_min_max)[1]);
      nodes.push_back(fb::CreateNode(b_, static_cast<AnyNode>(n.kind), table, n.debug_handle, min_max));
    }
    const auto version = b_.CreateString(g_.version);
    const auto node_list = b_.CreateVector(nodes);
    const auto value_list = b_.CreateVector(values);
    const auto inputs = b_.CreateVector(g_.input_ids), outputs = b_.CreateVector(g_.output_ids);
    const auto constant_list = b_.CreateVector(constants);
    b_.Finish(fb::CreateGraph(b_, version, node_list, value_list, g_.num_externs, inputs, outputs, 0, 0, constant_list),
              fb::GraphIdentifier());

    const uint64_t flat_size = b_.GetSize();
    if (flat_size >= flat::kMaxFlatbuffer) return fail(Code::kInternal, "payload flatbuffer of {} bytes", flat_size);
    const uint64_t padded = (flat_size + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
    std::vector<std::byte> head(kPaddedHeader + padded);
    const auto put = [&](size_t at, auto v) { std::memcpy(head.data() + at, &v, sizeof v); };
    std::memcpy(head.data() + 4, "XH00", 4);
    put(8, static_cast<uint16_t>(kHeaderLength));
    put(10, static_cast<uint32_t>(kPaddedHeader));
    put(14, static_cast<uint32_t>(flat_size));
    put(18, static_cast<uint32_t>(head.size()));
    put(22, data.size());
    std::memcpy(head.data() + kPaddedHeader, b_.GetBufferPointer(), flat_size);
    Pieces out;
    out.own(std::move(head));
    out.take(std::move(data));
    return out;
  }

 private:
  flatbuffers::Offset<fb::Value> build_value(const Value& v) {
    const auto dims = b_.CreateVector(v.dims);
    const auto tensor =
        fb::CreateTensorValue(b_, static_cast<int16_t>(v.datatype), static_cast<uint32_t>(v.dims.size()), dims,
                              v.constant, v.external_id, v.flags, v.id, static_cast<int16_t>(v.dynamic_datatype));
    flatbuffers::Offset<void> quant;
    fb::Quant kind = fb::Quant::NONE;
    if (const auto* q = std::get_if<TensorQuant>(&v.quant)) {
      kind = fb::Quant::TensorQuant;
      quant = fb::CreateTensorQuant(b_, q->scale, q->zero_point).Union();
    } else if (const auto* q = std::get_if<TokenDynamicQuant>(&v.quant)) {
      kind = fb::Quant::TokenDynamicQuant;
      quant = fb::CreateTokenDynamicQuant(b_, q->num_nonbatch_dims).Union();
    } else if (const auto* q = std::get_if<ChannelQuant>(&v.quant)) {
      kind = fb::Quant::ChannelQuant;
      quant = fb::CreateChannelQuant(b_, b_.CreateVector(q->scale), q->channel_dim, q->scale_constant, q->num_scales)
                  .Union();
    } else if (const auto* q = std::get_if<ChannelGroupQuant>(&v.quant)) {
      kind = fb::Quant::ChannelGroupQuant;
      quant = fb::CreateChannelGroupQuant(b_, b_.CreateVector(q->scale), q->channel_dim, q->group_size,
                                          q->scale_constant, q->num_scales)
                  .Union();
    }
    if (kind == fb::Quant::NONE) return fb::CreateValue(b_, fb::AnyValue::TensorValue, tensor.Union());
    return fb::CreateValue(b_, fb::AnyValue::QuantizedValue, fb::CreateQuantizedValue(b_, tensor, kind, quant).Union());
  }

  flatbuffers::Offset<void> build_node(const Node& n) {
    const auto in = [&](size_t i) { return i < n.inputs.size() ? n.inputs[i] : 0; };
    const uint32_t out = n.outputs[0], rank = static_cast<uint32_t>(n.dims.size());
    const ConvParams& c = n.conv;
    switch (info(n.kind).shape) {
      case Shape::kUnary: return fb::CreateUnary(b_, in(0), out, n.flags).Union();
      case Shape::kBinary: return fb::CreateBinary(b_, in(0), in(1), out, n.flags).Union();
      case Shape::kCat: return fb::CreateCat(b_, n.axis, in(0), in(1), in(2), in(3), out, n.flags, in(4)).Union();
      case Shape::kConv:
        return fb::CreateConv(b_, c.padding_top, c.padding_right, c.padding_bottom, c.padding_left, c.kernel_height,
                              c.kernel_width, c.stride_height, c.stride_width, c.dilation_height, c.dilation_width,
                              c.group_input_channels, c.group_output_channels, c.groups, c.adjustment_height,
                              c.adjustment_width, in(0), in(1), in(2), out, n.flags)
            .Union();
      case Shape::kPool:
        return fb::CreatePool(b_, c.padding_top, c.padding_right, c.padding_bottom, c.padding_left, c.kernel_height,
                              c.kernel_width, c.stride_height, c.stride_width, c.dilation_height, c.dilation_width,
                              in(0), out, n.flags)
            .Union();
      case Shape::kArgMaxPool:
        return fb::CreateArgMaxPool(b_, c.padding_top, c.padding_right, c.padding_bottom, c.padding_left,
                                    c.kernel_height, c.kernel_width, in(0), out, n.outputs[1], n.flags)
            .Union();
      case Shape::kFullyConnected: return fb::CreateFullyConnected(b_, in(0), in(1), in(2), out, n.flags).Union();
      case Shape::kTranspose:
        return fb::CreateTranspose(b_, rank, b_.CreateVector(n.dims), in(0), out, n.flags).Union();
      case Shape::kResize: return fb::CreateResizeBilinear(b_, n.dims.at(0), n.dims.at(1), in(0), out, n.flags).Union();
      case Shape::kPad: {
        const auto before = b_.CreateVector(n.dims);
        return fb::CreateConstantPad(b_, before, b_.CreateVector(n.dims2), n.value, in(0), out, n.flags).Union();
      }
      case Shape::kReshape: return fb::CreateReshape(b_, rank, b_.CreateVector(n.dims), in(0), out, n.flags).Union();
      case Shape::kSlice: {
        const auto offsets = b_.CreateVector(n.dims);
        return fb::CreateSlice(b_, rank, offsets, b_.CreateVector(n.dims2), in(0), out, n.flags).Union();
      }
      case Shape::kAttention: return fb::CreateAttention(b_, in(0), in(1), in(2), in(3), in(4), out, n.flags).Union();
      case Shape::kLeakyRelu: return fb::CreateLeakyRelu(b_, n.value, in(0), out, n.flags).Union();
      case Shape::kElu: return fb::CreateElu(b_, n.value, in(0), out, n.flags).Union();
    }
    return {};
  }

  const Graph& g_;
  flatbuffers::FlatBufferBuilder b_;
};

}  // namespace

const char* name(NodeKind k) {
  const auto i = static_cast<size_t>(k);
  return i >= 1 && i <= kKindCount ? kKinds[i - 1].name : "?";
}

Result<Graph> parse(Bytes payload) { return Parser(payload).run(); }

Result<Pieces> build(const Graph& graph) { return Builder(graph).run(); }

}  // namespace edgewright::xnn
