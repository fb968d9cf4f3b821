// src/ops/xnn_emitter.h - what an op's lowering may ask of XNNPACK; one call per payload node. Depends on ir.
//
// Node kinds are those of the ExecuTorch XNNPACK payload (1.5.1). Tensors are f32 unless said otherwise, rank 0 to 6, dims may
// be symbolic only where the emitter allows it. Every call returns kKeptOnHost with a reason where XNNPACK cannot do it (dtype,
// rank, unsupported params), before anything was emitted. Two emitters exist: one that records for the partitioner whether a
// node is taken, and one that builds the payload.
#pragma once

#include "ops/op_def.h"

namespace edgewright::ops {

enum class XnnUnary : uint8_t {
  kAbs,
  kBankersRounding,
  kCeiling,
  kFloor,
  kNegate,
  kSquare,
  kSquareRoot,
  kReciprocalSquareRoot,
  kSigmoid,
  kHardswish,
  kTanh,
  kExp,
  kLog,
  kGelu,
  kSin,
  kCos,
};
enum class XnnBinary : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kMaximum, kMinimum, kSquaredDifference, kPrelu };

struct Clamp {
  float min = -INFINITY, max = INFINITY;
};
struct Window {  // height, width
  std::array<uint32_t, 2> kernel{1, 1}, stride{1, 1}, dilation{1, 1}, output_padding{0, 0};
  uint32_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
};

class XnnEmitter {
 public:
  using V = const ir::Value*;
  virtual ~XnnEmitter() = default;

  virtual Result<void> unary(XnnUnary op, V in, V out) = 0;
  virtual Result<void> clamp(V in, V out, Clamp c) = 0;  // needs min <= max, neither NaN
  virtual Result<void> leaky_relu(V in, V out, float negative_slope) = 0;
  virtual Result<void> elu(V in, V out, float alpha) = 0;
  // Operands broadcast as PyTorch's. A Scalar operand becomes a one-element constant.
  virtual Result<void> binary(XnnBinary op, V a, V b, V out, Clamp c = {}) = 0;
  virtual Result<void> binary(XnnBinary op, V a, float b, V out, Clamp c = {}) = 0;
  virtual Result<void> binary(XnnBinary op, float a, V b, V out, Clamp c = {}) = 0;
  // Several steps for one node: a fresh intermediate of the type given.
  virtual V temporary(const TensorType& t) = 0;
  virtual V constant_f32(std::vector<float> data, std::vector<int64_t> sizes) = 0;

  // x: [..., k]; weight constant [n, k], or [k, n] with `transposed_weight`; bias constant [n] or null; out: [..., n].
  virtual Result<void> fully_connected(V x, V weight, V bias, V out, bool transposed_weight, Clamp c = {}) = 0;
  // a: [..., m, k], b: [..., k, n], same batch dims.
  virtual Result<void> batch_matmul(V a, V b, V out) = 0;
  // x: [n, h, w, c]; weight constant [o, kh, kw, i/groups]; bias constant [o] or null; out: [n, h', w', o].
  virtual Result<void> conv2d(V x, V weight, V bias, V out, const Window& w, uint32_t groups, Clamp c = {}) = 0;
  // weight constant [1, kh, kw, c*multiplier].
  virtual Result<void> depthwise_conv2d(V x, V weight, V bias, V out, const Window& w, uint32_t channels,
                                        uint32_t multiplier, Clamp c = {}) = 0;
  // Transposed convolution; weight constant [o, kh, kw, i/groups].
  virtual Result<void> deconv2d(V x, V weight, V bias, V out, const Window& w, uint32_t groups, Clamp c = {}) = 0;
  virtual Result<void> max_pool2d(V x, V out, const Window& w, Clamp c = {}) = 0;  // [n, h, w, c]
  virtual Result<void> avg_pool2d(V x, V out, const Window& w,
                                  Clamp c = {}) = 0;  // [n, h, w, c]; divides by the number of valid elements
  virtual Result<void> argmax_pool2d(V x, V out, V indices, const Window& w) = 0;
  virtual Result<void> global_avg_pool2d(V x, V out, Clamp c = {}) = 0;  // [n, h, w, c] -> [n, 1, 1, c]
  virtual Result<void> resize_bilinear2d(V x, V out, int64_t height, int64_t width, bool align_corners,
                                         bool half_pixel) = 0;
  virtual Result<void> depth_to_space(V x, V out, uint32_t block) = 0;
  virtual Result<void> softmax(V in, V out) = 0;  // over the last dim
  virtual Result<void> static_transpose(V in, V out, std::vector<int64_t> perm) = 0;
  virtual Result<void> static_reshape(V in, V out, const Shape& sizes) = 0;
  virtual Result<void> static_slice(V in, V out, std::vector<int64_t> offsets, std::vector<int64_t> sizes) = 0;
  virtual Result<void> static_constant_pad(V in, V out, std::vector<int64_t> pre, std::vector<int64_t> post,
                                           float value) = 0;
  virtual Result<void> concatenate(std::vector<V> in, V out, int64_t axis) = 0;
  virtual Result<void> copy(V in, V out) = 0;
  // An even split along an axis.
  virtual Result<void> even_split(V in, std::vector<V> out, int64_t axis) = 0;
};

}  // namespace edgewright::ops
