// src/passes/decompose.cc - decompose: an op that nothing runs -> simpler ops, as its definition says.
#include "ops/xnn_support.h"
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

Match expand(Node& n, Rewriter& rw) {
  const ops::OpDef* d = ops::def(n);
  if (!d || !d->decompose) return no_match();
  if (d->lower && ops::xnn_takes(n)) return no_match();
  if (!d->stock.empty() && !d->lower) return no_match();
  auto r = d->decompose(n, rw.builder());
  if (!r) return {false, "its decomposition fails", std::move(r.error())};
  if (r->empty()) return no_match();
  if (d->agreement == Agreement::kApproximate) rw.promise(Agreement::kApproximate);  // its parts are another formula
  return rw.replace(std::move(*r));
}

}  // namespace
PassDef define_decompose() {
  return {.name = "decompose",
          .rewrite = expand,
          .agreement = Agreement::kReassociated,
          .summary = "an op that nothing runs -> simpler ops"};
}
}  // namespace edgewright::passes
