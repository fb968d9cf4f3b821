// src/ops/xnn_quant.h - XNNPACK's quantized nodes as our own ops, and the quantization of a value in a graph. Depends on ops.
//
// Static (xnn.q_*): activations are i8, real = (q - zero_point) * scale, with scale and zero point of each as attributes of the node
// (<operand>_scale, <operand>_zero_point, y_scale, y_zero_point); weights i8 around 0 with one scale or one for each output
// channel (weight_scale); bias i32 around 0 with the scale of their product. The result is the float op's of the dequantized operands,
// quantized. Dynamic (xnn.qd_*): x and result are f32; each row (fully-connected) or image (convolutions) of x is quantized by its
// own range. Of the weights alone (xnn.qw_*): x is taken as it is. Ops that only move, order or bound elements act on i8 as on any integers: the same for every quantization.
#pragma once

#include <optional>
#include <string>

#include "ops/op_def.h"

namespace edgewright::ops {

struct Quantization {
  double scale = 1;
  int64_t zero_point = 0;
  bool operator==(const Quantization&) const = default;
};
// A scale that XNNPACK takes: positive and a normal f32; the zero point an i8.
bool is_usable(const Quantization& q);
inline bool is_usable_scale(double s) { return s > 0 && std::isnormal(static_cast<float>(s)); }

enum class Form : uint8_t { kFloat, kQuantized, kDynamic };  // kDynamic: floats with quantized weights
// Where a float op's own reading of its arguments serves the quantized op: dtypes are checked there.
inline bool is_quantized(const Call& c) { return c.name().starts_with("xnn.q"); }
// Of the node that makes v: xnn.q_*, xnn.qd_* and xnn.qw_*; anything else, and no node, is float.
Form form_of(const ir::Value* v);

// What the nodes around an i8 value say of its quantization: those that make or read it, and across nodes that only move, order or
// bound elements, those that make or read what they are connected to. Nothing where none says anything; `conflict` where two differ.
struct Stated {
  std::optional<Quantization> quantization;
  bool conflict = false;
};
Stated quantization_of(const ir::Value* v);
// The ops across which a quantization carries over.
bool keeps_quantization(const ir::Node& n);
// quantize_per_tensor and dequantize_per_tensor between f32 and i8 with constant parameters: their quantization.
std::optional<Quantization> quantizes(const ir::Node& n);
std::optional<Quantization> dequantizes(const ir::Node& n);
// Their lowering: XNNPACK's conversion.
Result<void> lower_conversion(const ir::Node& n, XnnEmitter& out);
// Of an operand ("x", or "y" for the result) of an xnn.q_* node.
Quantization attribute_of(const ir::Node& n, const std::string& operand);

// "xnn::q_conv2d" from "xnn::conv2d(Tensor x, ...) -> Tensor": the same with the attributes above, `weight` and `bias` being weights and
// every other tensor an activation. Meaning and lowering are the float op's, found by its name.
OpDef quantized(const std::string& name, const std::string& float_schema);
// "xnn::qd_conv2d" from the same. weight_scale is [outputs], or [outputs, blocks] over equal parts of the inner dim; `bits` 4 says that
// the weights lie in [-8, 7].
OpDef dynamic(const std::string& name, const std::string& float_schema);

}  // namespace edgewright::ops
