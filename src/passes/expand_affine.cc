// src/passes/expand_affine.cc - expand-affine: quantization ops that the stock runtime has no kernel for, or not for these dtypes ->
// the plain ops that they are. What XNNPACK takes of them is gone by now.
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

Match expand(Node& n, Rewriter& rw) {
  const ops::OpDef* d = ops::def(n);
  // torchao's and those by groups have kernels in our own runtime alone.
  const bool is_own = n.name().starts_with("torchao.") || n.name().ends_with("_per_channel_group");
  if (!d->decompose || (!is_own && (!d->stock_limit || d->stock_limit(n).empty()))) return no_match();
  auto r = d->decompose(n, rw.builder());
  if (!r) return {false, "its decomposition fails", std::move(r.error())};
  if (r->empty()) return no_match("sizes known only at run time are split into blocks");
  return rw.replace(std::move(*r));
}

}  // namespace

PassDef define_expand_affine() {
  return {
      .name = "expand-affine",
      .roots = {"torchao.quantize_affine", "torchao.dequantize_affine", "torchao.choose_qparams_affine",
                "quantized_decomposed.quantize_per_channel_group", "quantized_decomposed.dequantize_per_channel_group",
                "quantized_decomposed.quantize_per_channel", "quantized_decomposed.dequantize_per_channel"},
      .rewrite = expand,
      .agreement = Agreement::kBitExact,
      .summary = "quantization ops that nothing took -> plain ops"};
}

}  // namespace edgewright::passes
