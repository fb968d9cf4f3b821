// src/passes/remove_noops.cc - remove-noops: an op whose result is its operand, element for element -> the operand.
#include <set>

#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

bool same_type(const Value* a, const Value* b) { return a->type == b->type; }

Match rewrite(Node& n, Rewriter& rw) {
  const auto inputs = n.inputs();
  if (inputs.empty() || n.num_results() != 1 || !inputs[0]->tensor() || !n.result()->tensor()) return no_match();
  Value* x = inputs[0];
  static const std::set<std::string_view> kCopies = {
      "aten.clone",      "aten.alias",      "aten.detach",      "aten.contiguous", "aten.lift_fresh_copy",
      "aten.lift_fresh", "aten.alias_copy", "aten.detach_copy", "aten.dropout",    "aten._to_copy"};
  // Keep every element and their order: with an equal shape nothing is left of them.
  static const std::set<std::string_view> kReshapes = {"aten.view",
                                                       "aten.reshape",
                                                       "aten._unsafe_view",
                                                       "aten.view_copy",
                                                       "aten.flatten.using_ints",
                                                       "aten.expand",
                                                       "aten.expand_copy",
                                                       "aten.squeeze",
                                                       "aten.squeeze.dim",
                                                       "aten.squeeze.dims",
                                                       "aten.slice.Tensor",
                                                       "aten.slice_copy.Tensor",
                                                       "aten.constant_pad_nd",
                                                       "aten.repeat"};
  if (kCopies.contains(n.name())) {
    if (n.is("aten.dropout") && n.arg("train").b() && *n.arg("train").b() && !(n.arg("p").f() && *n.arg("p").f() == 0))
      return no_match("dropout in training");
    if (!same_type(x, n.result())) return no_match();
    return rw.replace(x);
  }
  if (kReshapes.contains(n.name())) {
    if (!same_type(x, n.result())) return no_match();
    // A slice or pad of equal size takes everything only if it starts at 0; sizes alone do not say so.
    if (n.is("aten.constant_pad_nd")) {
      const ir::Arg pad = n.arg("pad");
      for (const ir::Arg& a : *pad.list())
        if (!a.i() || *a.i() != 0) return no_match("it shifts elements");
    }
    if (n.name().starts_with("aten.slice")) {
      const ir::Arg step = n.arg("step");
      if (!step.i() || *step.i() != 1) return no_match("it has a step");  // equal size and step 1: start is 0
    }
    return rw.replace(x);
  }
  if (const auto perm = permutation(&n)) {
    for (size_t i = 0; i < perm->size(); ++i)
      if ((*perm)[i] != static_cast<int64_t>(i)) return no_match();
    return rw.replace(x);
  }
  return no_match();
}

}  // namespace
PassDef define_remove_noops() {
  return {.name = "remove-noops",
          .rewrite = rewrite,
          .agreement = Agreement::kBitExact,
          .summary = "an op whose result equals its operand -> the operand"};
}
}  // namespace edgewright::passes
