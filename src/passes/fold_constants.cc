// src/passes/fold_constants.cc - fold-constants: op(constants) -> constant. The value is the interpreter's, so the fold is bit-exact.
#include <algorithm>
#include <cmath>

#include "interp/interp.h"
#include "passes/movement.h"

namespace edgewright::passes {
namespace {

// A constant that grows the file needs a reason: results larger than this stay computed unless no larger than the operands.
// Masks and positions of some hundred tokens are below it.
constexpr int64_t kMaxGrowth = 1 << 20, kMaxRepeats = 1 << 16;  // bytes

Match fold(Node& n, Rewriter& rw) {
  const ops::OpDef* d = ops::def(n);
  if (!d || d->is_nondeterministic || d->has_side_effect || d->functional || n.num_results() == 0) return no_match();
  int64_t operand_bytes = 0;
  for (const Value* v : n.inputs()) {
    if (!v->is_constant()) return no_match();
    if (is_written(v)) return no_match("a buffer that is written in place");
    operand_bytes += static_cast<int64_t>(v->data->nbytes());
  }
  int64_t result_bytes = 0;
  for (size_t i = 0; i < n.num_results(); ++i) {
    const auto* t = n.result(i)->tensor();
    if (!t) return no_match();
    if (is_written(n.result(i))) return no_match("it is written in place");
    if (!ir::is_static(t->shape)) return no_match("the size of a constant expression is known only when it runs");
    const ir::Dim count = ir::numel(t->shape);
    result_bytes += count.value() * static_cast<int64_t>(size_of(t->dtype));
  }
  // Copies of the same elements say nothing new, and their users broadcast.
  const bool repeats = n.is("aten.expand") || n.is("aten.repeat");
  // Weights that stayed float after all: XNNPACK packs constants alone. A table of rows to pick from stays small instead.
  const bool weight = n.name().find(".dequantize_") != std::string::npos &&
                      std::none_of(n.result()->users.begin(), n.result()->users.end(), [](const Node* u) {
                        return u->name().find("embedding") != std::string::npos || u->name().starts_with("aten.index");
                      });
  if (!weight && result_bytes > std::max(operand_bytes, repeats ? kMaxRepeats : kMaxGrowth))
    return no_match("the folded constant would be larger than what it is made from");
  auto r = interp::evaluate(n);
  if (!r) return {false, "a constant expression cannot be evaluated", std::move(r.error())};
  if (weight)
    for (const ir::Tensor& t : *r)
      for (int64_t i = 0; i < t.numel(); ++i)
        if (!std::isfinite(ir::load_f(t.dtype, t.data, i)))
          return no_match("it dequantizes to NaN or infinities, which XNNPACK's products do not keep");
  // A sum's elements, one by one or all at once, are rounded in another order.
  if (d->whole && d->eval) rw.promise(Agreement::kReassociated);
  std::vector<Value*> out;
  for (size_t i = 0; i < r->size(); ++i) out.push_back(rw.constant(std::move((*r)[i]), n.result(i)->name));
  return rw.replace(std::move(out));
}

}  // namespace
PassDef define_fold_constants() {
  return {.name = "fold-constants",
          .rewrite = fold,
          .agreement = Agreement::kBitExact,
          .summary = "op(constants) -> constant"};
}
}  // namespace edgewright::passes
