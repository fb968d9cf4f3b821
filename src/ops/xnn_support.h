// src/ops/xnn_support.h - whether XNNPACK takes a node: the recording emitter. Depends on ops/xnn_emitter.h.
//
// The rules of what an XNNPACK payload node accepts (dtype, rank, static shapes, parameters) stand in xnn_support.cc alone: the
// emitter that builds payloads derives from CheckingEmitter and adds bytes to what passed its checks.
#pragma once

#include "ops/xnn_emitter.h"

namespace edgewright::ops {

// Checks each call; emits nothing.
class CheckingEmitter : public XnnEmitter {
 public:
  Result<void> unary(XnnUnary op, V in, V out) override;
  Result<void> clamp(V in, V out, Clamp c) override;
  Result<void> leaky_relu(V in, V out, float negative_slope) override;
  Result<void> elu(V in, V out, float alpha) override;
  Result<void> binary(XnnBinary op, V a, V b, V out, Clamp c) override;
  Result<void> binary(XnnBinary op, V a, float b, V out, Clamp c) override;
  Result<void> binary(XnnBinary op, float a, V b, V out, Clamp c) override;
  V temporary(const TensorType& t) override;
  V constant_f32(std::vector<float> data, std::vector<int64_t> sizes) override;
  Result<void> fully_connected(V x, V weight, V bias, V out, bool transposed_weight, Clamp c) override;
  Result<void> batch_matmul(V a, V b, V out) override;
  Result<void> conv2d(V x, V weight, V bias, V out, const Window& w, uint32_t groups, Clamp c) override;
  Result<void> depthwise_conv2d(V x, V weight, V bias, V out, const Window& w, uint32_t channels, uint32_t multiplier,
                                Clamp c) override;
  Result<void> deconv2d(V x, V weight, V bias, V out, const Window& w, uint32_t groups, Clamp c) override;
  Result<void> max_pool2d(V x, V out, const Window& w, Clamp c) override;
  Result<void> avg_pool2d(V x, V out, const Window& w, Clamp c) override;
  Result<void> argmax_pool2d(V x, V out, V indices, const Window& w) override;
  Result<void> global_avg_pool2d(V x, V out, Clamp c) override;
  Result<void> resize_bilinear2d(V x, V out, int64_t height, int64_t width, bool align_corners,
                                 bool half_pixel) override;
  Result<void> depth_to_space(V x, V out, uint32_t block) override;
  Result<void> softmax(V in, V out) override;
  Result<void> static_transpose(V in, V out, std::vector<int64_t> perm) override;
  Result<void> static_reshape(V in, V out, const Shape& sizes) override;
  Result<void> static_slice(V in, V out, std::vector<int64_t> offsets, std::vector<int64_t> sizes) override;
  Result<void> static_constant_pad(V in, V out, std::vector<int64_t> pre, std::vector<int64_t> post,
                                   float value) override;
  Result<void> concatenate(std::vector<V> in, V out, int64_t axis) override;
  Result<void> copy(V in, V out) override;
  Result<void> even_split(V in, std::vector<V> out, int64_t axis) override;

 protected:
  // Values made for temporary() and constant_f32(), in order of making.
  std::list<ir::Value> own_;
};

// Whether the node's lowering goes through; `reason` (optional) receives why not.
bool xnn_takes(const ir::Node& n, std::string* reason = nullptr);

}  // namespace edgewright::ops
