// src/passes/expand_affine.cc - expand-affine: quantize_affine, dequantize_affine, choose_qparams_affine -> the plain ops that they
// are. What XNNPACK takes of them is gone by now; the stock runtime has no kernels for the rest.
#include "passes/pass_def.h"

namespace edgewright::passes {

PassDef define_expand_affine() {
  return {.name = "expand-affine",
          .roots = {"torchao.quantize_affine", "torchao.dequantize_affine", "torchao.choose_qparams_affine"},
          .rewrite = [](Node& n, Rewriter& rw) -> Match {
            auto r = ops::def(n)->decompose(n, rw.builder());
            if (!r) return {false, "its decomposition fails", std::move(r.error())};
            if (r->empty()) return no_match("sizes known only at run time are split into blocks");
            return rw.replace(std::move(*r));
          },
          .agreement = Agreement::kBitExact,
          .summary = "torchao's quantization ops that nothing took -> plain ops"};
}

}  // namespace edgewright::passes
