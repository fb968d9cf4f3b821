// src/ops/adaptive_max_pool.cc - aten.adaptive_max_pool1d/2d/3d: the largest of windows that cover the input, and where it is.
#include "ops/pools.h"

namespace edgewright::ops {
namespace {

// Each axis in turn, the last first, as slices with their largest; positions are carried along.
Result<std::vector<ir::Value*>> by_slices(Builder& b, ir::Value* x, const std::vector<int64_t>& out) {
  const Shape in = x->tensor()->shape;
  const size_t first = in.size() - out.size();
  ir::Value* at = nullptr;
  int64_t below = 1;  // elements per step of this axis
  for (size_t d = out.size(); d-- > 0;) {
    const int64_t dim = static_cast<int64_t>(first + d), n = in[first + d].value();
    std::vector<ir::Value*> values, positions;
    for (int64_t o = 0; o < out[d]; ++o) {
      const int64_t begin = o * n / out[d], end = ((o + 1) * n + out[d] - 1) / out[d];
      const auto best = b.multi("aten.max.dim", {b("aten.slice.Tensor", {x, dim, begin, end, 1}), dim, true});
      if (b.failed()) return b.done({});
      ir::Value* p = b("aten.add.Scalar", {best[1], begin});
      if (below != 1) p = b("aten.mul.Scalar", {p, below});
      if (at)
        p = b("aten.add.Tensor",
              {p, b("aten.gather", {b("aten.slice.Tensor", {at, dim, begin, end, 1}), dim, best[1]})});
      values.push_back(best[0]);
      positions.push_back(p);
    }
    x = values.size() == 1 ? values[0] : b("aten.cat", {ir::Arg::values(values), dim});
    at = positions.size() == 1 ? positions[0] : b("aten.cat", {ir::Arg::values(positions), dim});
    below *= n;
  }
  return b.done({x, at});
}

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
  int64_t windows = 0;
  for (size_t d = 0; d < spatial; ++d) {
    if (!s[s.size() - spatial + d].is_constant() || out[d] < 1) return std::vector<ir::Value*>{};
    windows += out[d];
  }
  if (windows > 64) return std::vector<ir::Value*>{};
  return by_slices(b, x, out);
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
  return d;
}

}  // namespace

std::vector<OpDef> define_adaptive_max_pool() { return {definition(1), definition(2), definition(3)}; }
}  // namespace edgewright::ops
