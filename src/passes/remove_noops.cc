// src/passes/remove_noops.cc - remove-noops: an op that computes nothing -> its operand: copies, casts to the dtype that it is,
// dropout at inference, a pad of nothing, a repeat of one. (Data movement that moves nothing is compose-movement's.)
#include "passes/movement.h"

namespace edgewright::passes {
namespace {

Match rewrite(Node& n, Rewriter& rw) {
  if (is_copy(n)) {
    if (is_written(n.result()) || is_written(n.args()[0].value())) return no_match("it is written in place");
    return rw.replace(n.args()[0].value());
  }
  if (!n.is("aten.constant_pad_nd") && !n.is("aten.repeat")) return no_match();
  Value* x = n.args()[0].value();
  if (!x || !(x->type == n.result()->type)) return no_match();
  // A pad of equal size takes everything only if it adds nothing on either side; sizes alone do not say so.
  if (n.is("aten.constant_pad_nd")) {
    const ir::Arg pad = n.arg("pad");
    for (const ir::Arg& a : *pad.list())
      if (!a.i() || *a.i() != 0) return no_match("it shifts elements");
  }
  if (is_written(n.result()) || is_written(x)) return no_match("it is written in place");
  return rw.replace(x);
}

}  // namespace
PassDef define_remove_noops() {
  return {.name = "remove-noops",
          .rewrite = rewrite,
          .agreement = Agreement::kBitExact,
          .summary = "an op that computes nothing (copy, dropout, pad of nothing) -> its operand"};
}
}  // namespace edgewright::passes
