// src/passes/convert_to_linear.cc - convert-to-linear:
//   mm(x, permute(w, [1,0]))              -> linear(x, w)
//   addmm(b, x, permute(w, [1,0]))        -> linear(x, w, b)      alpha = beta = 1, b of shape [n]
// Right because linear(x, w) is defined as x times the transpose of w. Only a transpose that is itself the operand counts: one
// further upstream is part of how the weight is computed, and a folded one is gone (the node then stays an mm).
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

bool is_one(const ir::Arg& a) { return (a.i() && *a.i() == 1) || (a.f() && *a.f() == 1); }

Match rewrite(Node& n, Rewriter& rw) {
  const bool with_bias = n.is("aten.addmm");
  const ir::Arg x = n.arg(with_bias ? "mat1" : "self"), w = n.arg("mat2");
  if (!is_float(w.value()->tensor()->dtype)) return no_match("an integer matmul has no linear form");
  if (with_bias && (!is_one(n.arg("alpha")) || !is_one(n.arg("beta")))) return no_match("alpha or beta is not 1");
  Value* bias = with_bias ? n.arg("self").value() : nullptr;
  if (bias && (bias->tensor()->rank() != 1 || !(bias->tensor()->shape[0] == n.result()->tensor()->shape[1])))
    return no_match("the bias is not a row of n elements");
  Node* transpose = w.value()->producer;
  const auto perm = permutation(transpose);
  if (!perm || *perm != std::vector<int64_t>{1, 0}) return no_match("the second operand is not a transpose");
  rw.matched(transpose);
  return rw.replace(rw("aten.linear", {x, transpose->inputs()[0], bias ? ir::Arg(bias) : ir::Arg()}));
}

}  // namespace
PassDef define_convert_to_linear() {
  return {.name = "convert-to-linear",
          .roots = {"aten.mm", "aten.addmm"},
          .rewrite = rewrite,
          .agreement = Agreement::kReassociated,
          .summary = "mm(x, permute(w)) or addmm(b, x, permute(w)) -> linear(x, w, b)"};
}
}  // namespace edgewright::passes
