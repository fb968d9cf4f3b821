// src/ops/xnn_q_unary.cc - activations of i8 values: XNNPACK looks them up or computes them with its quantized kernels.
#include "ops/xnn_quant.h"

namespace edgewright::ops {

std::vector<OpDef> define_xnn_q_unary() {
  return {
      quantized("xnn::q_sigmoid", "aten::sigmoid(Tensor self) -> Tensor"),
      quantized("xnn::q_tanh", "aten::tanh(Tensor self) -> Tensor"),
      quantized("xnn::q_hardswish", "aten::hardswish(Tensor self) -> Tensor"),
      quantized("xnn::q_elu", "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor"),
      quantized("xnn::q_leaky_relu", "aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor")};
}

}  // namespace edgewright::ops
