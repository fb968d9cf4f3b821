// src/passes/bmm_over_batches.cc - bmm-over-batches: view(bmm(view(a), view(b))) -> xnn.batch_matmul(a, b), where the views do nothing but flatten
// the batch dims and part them again. XNNPACK takes any number of batch dims, while its reshape copies, and derives one size only.
#include "ops/xnn_support.h"
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

bool is_view(const Node* n) {
  return n && (n->is("aten.view") || n->is("aten.reshape") || n->is("aten._unsafe_view") || n->is("aten.view_copy"));
}

// The operand whose batch dims `v` is the flattened form of; the matrices stay.
Value* before_flattening(const Value* v) {
  if (!is_view(v->producer)) return nullptr;
  Value* x = v->producer->args()[0].value();
  const ir::Shape &from = x->tensor()->shape, &to = v->tensor()->shape;
  const size_t r = from.size();
  if (r < 3 || !(from[r - 1] == to[2]) || !(from[r - 2] == to[1])) return nullptr;
  if (!(ir::numel(ir::Shape(from.begin(), from.end() - 2)) == to[0])) return nullptr;
  return x;
}

Match rewrite(Node& n, Rewriter& rw) {
  if (!is_view(&n)) return no_match();
  Node* bmm = producer(n.args()[0].value(), "aten.bmm");
  if (!bmm || !is_f32(bmm->result())) return no_match();
  if (!only_user(bmm->result())) return no_match("the product has another reader");
  Value *a = before_flattening(bmm->inputs()[0]), *b = before_flattening(bmm->inputs()[1]);
  if (!a || !b) return no_match();
  const ir::Shape &s = a->tensor()->shape, &t = b->tensor()->shape, &y = n.result()->tensor()->shape;
  if (s.size() != t.size() || s.size() != y.size()) return no_match();
  for (size_t d = 0; d + 2 < s.size(); ++d)
    if (!(s[d] == t[d]) || !(s[d] == y[d])) return no_match("the batch dims are parted otherwise");
  if (!(y[y.size() - 2] == s[s.size() - 2]) || !(y.back() == t.back())) return no_match();
  Value* product = rw("xnn.batch_matmul", {a, b});
  if (!product) return rw.replace(product);
  std::string reason;
  if (!ops::xnn_takes(*product->producer, &reason)) return no_match(reason);
  rw.matched(bmm);
  for (const Value* v : bmm->inputs())
    if (v->producer) rw.matched(v->producer);
  return rw.replace(product);
}

}  // namespace
PassDef define_bmm_over_batches() {
  return {.name = "bmm-over-batches",
          .roots = {"aten.view", "aten.reshape", "aten._unsafe_view", "aten.view_copy"},
          .rewrite = rewrite,
          .agreement = Agreement::kReassociated,
          .summary = "view(bmm(view(a), view(b))) over flattened batch dims -> xnn.batch_matmul(a, b)"};
}
}  // namespace edgewright::passes
