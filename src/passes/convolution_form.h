// src/passes/convolution_form.h - an aten.convolution as one of XNNPACK's nodes, whatever it computes in. Depends on passes.
#pragma once

#include <string>
#include <variant>

#include "passes/pass_def.h"

namespace edgewright::passes {

inline const std::vector<int64_t> kToNhwc{0, 2, 3, 1}, kToNchw{0, 3, 1, 2};

struct ConvolutionForm {
  std::string op;                 // "conv2d", "depthwise_conv2d", "deconv2d"
  std::vector<ir::Arg> args;      // x in NHWC, the weight as that node has it, an empty bias, window, groups
  const Value* result = nullptr;  // of the convolution
  bool one_dim = false;
  int64_t groups = 1, out_channels = 0;
  // The node's result as the convolution's.
  Value* restored(Rewriter& rw, Value* y) const;
};

// [n, c, l] -> [n, c, 1, l], and a dim of 1 taken out again to give the type of `like`.
Value* with_row(Rewriter& rw, Value* x);
Value* without_dim(Rewriter& rw, Value* x, int64_t dim, const Value& like);

// `x` and the constant `w` stand for the convolution's own operands, in the same shapes. Errors: why XNNPACK has no such node.
std::variant<ConvolutionForm, std::string> convolution_form(const Node& n, Rewriter& rw, Value* x, Value* w);

inline Value* ConvolutionForm::restored(Rewriter& rw, Value* y) const {
  if (!y) return y;
  Value* nchw = rw.permute(y, kToNchw);
  return one_dim ? without_dim(rw, nchw, 2, *result) : nchw;
}

// An int list argument of a node, one entry standing for all; nullopt where one is known only at run time.
std::optional<std::vector<int64_t>> constant_ints(const Node& n, std::string_view param, size_t count);

}  // namespace edgewright::passes
