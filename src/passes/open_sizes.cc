// src/passes/open_sizes.cc - open-sizes: view(x, [n, 8]) with a computed n -> view(x, [-1, 8]); expand(x, [n, 8]) -> expand(x, [-1, 8]).
//
// A view derives one size from the others, an expand keeps a size that it does not change. Without the numbers as arguments the node needs
// nothing computed at run time, and XNNPACK can take it.
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

Match rewrite(Node& n, Rewriter& rw) {
  const bool expands = n.name().starts_with("aten.expand");
  const ir::Arg sizes = n.args().size() > 1 ? n.args()[1] : ir::Arg();  // "size", or "shape"
  const Value* x = n.args()[0].value();
  if (!sizes.list() || !x || !x->tensor()) return no_match();
  const ir::Shape &from = x->tensor()->shape, &to = n.result()->tensor()->shape;
  if (sizes.list()->size() != to.size()) return no_match();
  ir::ArgList open = *sizes.list();
  size_t opened = 0;
  for (size_t i = 0; i < open.size(); ++i) {
    if (!open[i].value()) {
      // A size that is known leaves room for one that is not.
      if (open[i].i() && *open[i].i() == -1 && !expands && to[i].is_constant()) open[i] = to[i].value();
      continue;
    }
    if (expands) {
      if (i + from.size() < to.size() || !(from[i + from.size() - to.size()] == to[i]))
        return no_match("a size known only at run time is a new one");
    } else if (to[i].is_constant()) {
      open[i] = to[i].value();
      ++opened;
      continue;
    }
    open[i] = -1;
    ++opened;
  }
  const auto negatives =
      std::count_if(open.begin(), open.end(), [](const ir::Arg& a) { return a.i() && *a.i() == -1; });
  if (opened == 0) return no_match();
  if (!expands) {
    if (negatives > 1) return no_match("several sizes are known only at run time");
    // What is derived must be the size meant, whatever the numbers are.
    if (negatives == 1 && !(ir::numel(from) == ir::numel(to)))
      return no_match("the sizes are not seen to hold as many elements");
    for (const ir::Dim& d : to)
      if (d == ir::Dim(0)) return no_match("an empty tensor's size cannot be derived");
  }
  std::vector<ir::Arg> args = n.args();
  args[1] = open;
  return rw.replace(rw(n.name(), std::move(args)));
}

}  // namespace
PassDef define_open_sizes() {
  return {
      .name = "open-sizes",
      .roots = {"aten.view", "aten.reshape", "aten._unsafe_view", "aten.view_copy", "aten.expand", "aten.expand_copy"},
      .rewrite = rewrite,
      .agreement = Agreement::kBitExact,
      .summary = "view(x, [n, 8]) with a computed n -> view(x, [-1, 8])"};
}
}  // namespace edgewright::passes
