// src/passes/decompose.cc - decompose: an op that nothing runs, or only the host while XNNPACK runs all its parts -> simpler ops,
// as its definition says.
#include <algorithm>

#include "ops/xnn_support.h"
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

// Ops of which a later pass makes more than their parts would be: XNNPACK's forms, and norms that go into a convolution.
bool has_own_form(const Node& n) {
  for (const char* pass : {"xnn-forms", "fold-batch-norm"}) {
    const std::vector<std::string>& roots = find(pass)->roots;
    if (std::find(roots.begin(), roots.end(), n.name()) != roots.end()) return true;
  }
  return false;
}

Match expand(Node& n, Rewriter& rw) {
  const ops::OpDef* d = ops::def(n);
  if (!d || !d->decompose) return no_match();
  if (n.name().starts_with("torchao.")) return no_match();  // expand-affine's, once XNNPACK has taken its part
  if (d->lower && ops::xnn_takes(n)) return no_match();
  // Patterns know quantization by these; expand-affine comes after them.
  if (!d->stock.empty() && (n.name().starts_with("quantized_decomposed.") || n.name().starts_with("torchao.")))
    return no_match();
  // The host could run it: only XNNPACK is better.
  const bool optional = !d->stock.empty() && !d->lower && !(d->stock_limit && !d->stock_limit(n).empty());
  if (optional && has_own_form(n)) return no_match();
  auto r = d->decompose(n, rw.builder());
  if (!r) return {false, "its decomposition fails", std::move(r.error())};
  if (r->empty()) return no_match();
  if (optional)
    for (const Node* part : rw.new_nodes())
      if (!ops::xnn_takes(*part)) return no_match();
  if (d->agreement == Agreement::kApproximate) rw.promise(Agreement::kApproximate);  // its parts are another formula
  return rw.replace(std::move(*r));
}

}  // namespace
PassDef define_decompose() {
  return {.name = "decompose",
          .rewrite = expand,
          .agreement = Agreement::kReassociated,
          .summary = "an op that XNNPACK does not run, but its parts, or that nothing runs -> simpler ops"};
}
}  // namespace edgewright::passes
