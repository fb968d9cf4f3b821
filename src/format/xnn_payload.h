// src/format/xnn_payload.h - the XNNPACK delegate's payload as plain structs: bounds-checked reader and builder.
//
// Layout (stock ExecuTorch 1.5.1, backends/xnnpack/serialization): 4 zero bytes, "XH00", u16 header length (30),
// u32 flatbuffer offset, u32 flatbuffer size, u32 constant base, u64 constant size, padding to 16; flatbuffer (xnnpack.fbs,
// identifier "XN01" or "XN00"), padding to 16; constants. A payload may be the bare flatbuffer, too.
// Depends on base, pieces.h, flatbuffers (in the .cc only).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "format/pieces.h"

namespace edgewright::xnn {

inline constexpr uint32_t kInvalidId = UINT32_MAX;  // XNN_INVALID_VALUE_ID: no bias, not external
inline constexpr uint32_t kConstantAlignment = 16;

// Numbers of the payload, which are not those of xnnpack.h.
enum class Datatype : int16_t {
  kInvalid = 0,
  kFp32 = 1,
  kFp16 = 2,
  kQint8 = 3,
  kQuint8 = 4,
  kQint32 = 5,
  kQcint8 = 6,
  kQcint32 = 7,
  kQcint4 = 8,
  kQdint8 = 9,
  kQbint4 = 10,
  kQpint8 = 11,
  kInt32 = 12,
  kPfp32 = 13,
  kBf16 = 14,
};
inline constexpr int16_t kLastDatatype = 14;

// Numbers of the payload's node union.
enum class NodeKind : uint8_t {
  kAdd = 1,
  kFullyConnected,
  kSoftmax,
  kSigmoid,
  kStaticTranspose,
  kClamp,
  kConv2d,
  kDiv,
  kStaticResizeBilinear2d,
  kStaticConstantPad,
  kAvgPooling2d,
  kMinimum,
  kDepthwiseConv2d,
  kMaxPooling2d,
  kMultiply,
  kSubtract,
  kFloor,
  kConvert,
  kGlobalAvgPooling2d,
  kStaticReshape,
  kArgMaxPooling2d,
  kSquareRoot,
  kCeiling,
  kHardswish,
  kLeakyRelu,
  kMaximum,
  kNegate,
  kSquare,
  kElu,
  kAbs,
  kPrelu,
  kConcatenate2,
  kConcatenate3,
  kConcatenate4,
  kStaticSlice,
  kScaledDotProductAttention,
  kBatchMatrixMultiply,
  kConcatenate5,
  kConvTranspose2d,
  kReciprocalSquareRoot,
  kLog,
  kGelu,
  kTanh,
  kExp,
  kSin,
  kCopy,
  kCos,
};
const char* name(NodeKind k);

struct TensorQuant {
  float scale = 1;
  int32_t zero_point = 0;
};
// Scales inline, or in constant `scale_constant` (> 0) with `num_scales` of them: f32, for groups bf16.
struct ChannelQuant {
  std::vector<float> scale;
  int32_t channel_dim = 0;
  uint32_t scale_constant = 0, num_scales = 0;
};
struct ChannelGroupQuant {
  std::vector<float> scale;
  int32_t channel_dim = 0, group_size = 0;
  uint32_t scale_constant = 0, num_scales = 0;
};
struct TokenDynamicQuant {
  int32_t num_nonbatch_dims = 0;
};
using Quant = std::variant<std::monostate, ChannelQuant, TensorQuant, TokenDynamicQuant, ChannelGroupQuant>;

enum ValueFlags : uint32_t { kExternalInput = 1, kExternalOutput = 2 };

struct Value {
  Datatype datatype = Datatype::kFp32;
  std::vector<uint32_t> dims;         // outermost first; NHWC for images
  uint32_t constant = 0;              // index into Graph::constants, 0: not constant
  uint32_t external_id = kInvalidId;  // position among the delegate call's arguments, below Graph::num_externs
  uint32_t flags = 0;                 // ValueFlags
  uint32_t id = 0;                    // the id that nodes use; stock numbers values by their position, external or not
  Datatype dynamic_datatype = Datatype::kInvalid;
  Quant quant;
};

struct ConvParams {
  uint32_t padding_top = 0, padding_right = 0, padding_bottom = 0, padding_left = 0;
  uint32_t kernel_height = 1, kernel_width = 1, stride_height = 1, stride_width = 1, dilation_height = 1,
           dilation_width = 1;
  uint32_t group_input_channels = 0, group_output_channels = 0, groups = 1;
  uint32_t adjustment_height = 0, adjustment_width = 0;  // transposed convolution only
};

// One node of any kind; which fields count depends on the kind:
//   inputs   unary {x}; binary {a, b}; concatenate {1..n}; fully-connected and convolutions {x, filter, bias};
//            attention {query, key, value, scale, mask}; prelu {x, slope}
//   outputs  {y}; arg-max pooling {value, index}
//   conv     Conv2d, DepthwiseConv2d, ConvTranspose2d; the poolings use its padding, kernel, stride, dilation
//   dims     transpose: perm; reshape: new shape; slice: offsets; pad: paddings before; resize: {height, width}
//   dims2    slice: sizes; pad: paddings after
//   value    pad: value; leaky relu: slope; elu: alpha
//   axis     concatenate (as a 32-bit number; negative axes wrap)
struct Node {
  NodeKind kind = NodeKind::kCopy;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  uint32_t flags = 0;
  uint32_t debug_handle = 0;
  std::optional<std::array<float, 2>> output_min_max;
  ConvParams conv;
  std::vector<uint32_t> dims, dims2;
  float value = 0;
  uint32_t axis = 0;
};

// Data of a constant value: in the payload's own constant area, or (named_key not empty) in the program's named data, which
// several delegates can share.
struct Constant {
  Bytes data;  // when read: empty where named_key is set
  std::string named_key;
  uint64_t size = 0;  // bytes; equals data.size() where the data is in the payload
};

struct Graph {
  std::string version = "0";
  std::vector<Value> values;
  std::vector<Node> nodes;
  uint32_t num_externs = 0;
  std::vector<uint32_t> input_ids, output_ids;  // ids (Value::id) of external values
  std::vector<Constant> constants;              // [0] is reserved and empty
};

// Reads a payload. In the result every constant index is in range and every constant's data inside the payload, kinds and
// datatypes are known, lists have one length with num_dims; value ids are as found. Errors: kMalformed. Memory is bounded by a
// small multiple of payload.size(). `payload` must outlive the result.
Result<Graph> parse(Bytes payload);

// The payload as pieces; constants' bytes are borrowed, each aligned to kConstantAlignment from the constant base.
// Errors: kInternal for wrong numbers of inputs or outputs of a node.
Result<Pieces> build(const Graph& graph);

}  // namespace edgewright::xnn
