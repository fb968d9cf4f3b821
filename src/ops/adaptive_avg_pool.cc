// src/ops/adaptive_avg_pool.cc - aten.adaptive_avg_pool1d/2d/3d and their native forms: means over windows that cover the input.
#include "ops/pools.h"

namespace edgewright::ops {
namespace {

using Values = Result<std::vector<ir::Value*>>;

// A mean over everything, an even pool, the stock kernel (2d), or slices.
Values decompose(const ir::Node& n, Builder& b, size_t spatial) {
  const Call c = Call::of(n);
  for (const Dim& d : c.dims("output_size"))
    if (!d.is_constant()) return std::vector<ir::Value*>{};
  const std::vector<int64_t> out = spatial_ints(c, "output_size", spatial);
  ir::Value* x = n.arg("self").value();
  const Shape& s = x->tensor()->shape;
  if (std::all_of(out.begin(), out.end(), [](int64_t o) { return o == 1; })) {
    std::vector<int64_t> dims;
    for (size_t d = 0; d < spatial; ++d) dims.push_back(static_cast<int64_t>(d) - static_cast<int64_t>(spatial));
    return b.done({b("aten.mean.dim", {x, ir::Arg::ints(dims), true})});
  }
  const auto k = even_windows(s, out);
  if (k && std::all_of(k->begin(), k->end(), [](int64_t w) { return w == 1; })) return b.done({x});
  if (k && ir::numel(s) != Dim(0))
    return b.done({b(fmt::format("aten.avg_pool{}d", spatial), {x, ir::Arg::ints(*k), ir::Arg::ints(*k)})});
  if (spatial == 1) {
    x = b("aten.adaptive_avg_pool2d", {b("aten.unsqueeze", {x, -2}), ir::Arg::ints({1, out[0]})});
    return b.done({b("aten.squeeze.dim", {x, -2})});
  }
  if (spatial == 2 && n.is("aten.adaptive_avg_pool2d"))
    return b.done({b("aten._adaptive_avg_pool2d", {x, ir::Arg::ints(out)})});
  if (spatial == 3)
    if (ir::Value* y = adaptive_by_slices(b, x, out, "aten.mean.dim")) return b.done({y});
  return std::vector<ir::Value*>{};
}

OpDef definition(std::string op, size_t spatial, std::string stock = "") {
  OpDef d;
  d.schema_text = fmt::format("aten::{}(Tensor self, SymInt[{}] output_size) -> Tensor", op, spatial);
  d.infer = [=](const Call& c) -> Result<Types> {
    const Shape s = adaptive_shape(c, spatial);
    if (!is_float(c.type(0).dtype))
      c.error(fmt::format("[pool.5] not defined on {}", edgewright::name(c.type(0).dtype)));
    return Types{TensorType{c.type(0).dtype, s}};
  };
  d.eval = [=](const Call& c, size_t) -> Result<Point> {
    return avg_pool_point(c.type(0).dtype, adaptive_pool(c, spatial));
  };
  d.whole = [=](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const Pool p = adaptive_pool(c, spatial);
    if (!c.failed()) avg_pool_whole(p, in[0], out[0]);
    return {};
  };
  d.decompose = [=](const ir::Node& n, Builder& b) { return decompose(n, b, spatial); };
  d.stock = std::move(stock);
  d.agreement = Agreement::kReassociated;
  return d;
}

}  // namespace

std::vector<OpDef> define_adaptive_avg_pool() {
  return {definition("adaptive_avg_pool1d", 1), definition("adaptive_avg_pool2d", 2),
          definition("_adaptive_avg_pool2d", 2, "aten::_adaptive_avg_pool2d.out"), definition("adaptive_avg_pool3d", 3),
          definition("_adaptive_avg_pool3d", 3)};
}
}  // namespace edgewright::ops
