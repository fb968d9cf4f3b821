// src/ops/adaptive_max_pool.cc - aten.adaptive_max_pool1d/2d/3d: the largest of windows that cover the input, and where it is.
#include "ops/pools.h"

namespace edgewright::ops {
namespace {

Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b, size_t spatial) {
  const Call c = Call::of(n);
  const std::vector<int64_t> out = spatial_ints(c, "output_size", spatial);
  ir::Value* x = n.arg("self").value();
  const Shape& s = x->tensor()->shape;
  if (c.failed() || ir::numel(s) == Dim(0)) return std::vector<ir::Value*>{};
  const auto k = even_windows(s, out);
  if (is_unused(n, 1)) {
    ir::Value* y = k ? b(fmt::format("aten.max_pool{}d", spatial), {x, ir::Arg::ints(*k), ir::Arg::ints(*k)})
                     : adaptive_by_slices(b, x, out, "aten.amax");
    if (!y && !b.failed()) return std::vector<ir::Value*>{};
    return b.done({y, nullptr});
  }
  if (k && spatial < 3)
    return b.done(
        b.multi(fmt::format("aten.max_pool{}d_with_indices", spatial), {x, ir::Arg::ints(*k), ir::Arg::ints(*k)}));
  if (spatial == 1) {
    auto both = b.multi("aten.adaptive_max_pool2d", {b("aten.unsqueeze", {x, -2}), ir::Arg::ints({1, out[0]})});
    for (ir::Value*& v : both) v = b("aten.squeeze.dim", {v, -2});
    return b.done(both);
  }
  // Windows of several sizes stay: an argmax of each would name the first NaN of a window, where this op names the last.
  return std::vector<ir::Value*>{};
}

OpDef definition(size_t spatial) {
  OpDef d;
  d.schema_text =
      fmt::format("aten::adaptive_max_pool{0}d(Tensor self, int[{0}] output_size) -> (Tensor, Tensor)", spatial);
  d.infer = [=](const Call& c) -> Result<Types> {
    const Shape s = adaptive_shape(c, spatial);
    if (!is_float(c.type(0).dtype)) c.error(fmt::format("[pool.5] not defined on {}", name(c.type(0).dtype)));
    return Types{TensorType{c.type(0).dtype, s}, TensorType{DType::i64, s}};
  };
  d.eval = [=](const Call& c, size_t r) -> Result<Point> {
    const Pool p = adaptive_pool(c, spatial);
    return r == 0 ? max_pool_point(c.type(0).dtype, p) : max_pool_index_point(c.type(0).dtype, p);
  };
  d.whole = [=](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const Pool p = adaptive_pool(c, spatial);
    if (!c.failed()) max_pool_whole(p, in[0], out[0], &out[1]);
    return {};
  };
  d.decompose = [=](const ir::Node& n, Builder& b) { return decompose(n, b, spatial); };
  d.agreement = Agreement::kEqual;
  if (spatial > 1) {
    d.stock = fmt::format("aten::adaptive_max_pool{}d.out", spatial);
    d.stock_limit = [](const ir::Node&) { return std::string("the stock runtime has no kernel for it"); };
  }
  return d;
}

}  // namespace

std::vector<OpDef> define_adaptive_max_pool() { return {definition(1), definition(2), definition(3)}; }
}  // namespace edgewright::ops
