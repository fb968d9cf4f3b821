// src/ops/max_pool.cc - aten.max_pool1d/2d/3d, with and without positions.
#include "ops/pools.h"

namespace edgewright::ops {
namespace {

using Values = Result<std::vector<ir::Value*>>;

OpDef definition(size_t spatial, bool indices) {
  OpDef d;
  const std::string one = spatial == 1 ? "[0]" : "0", dil = spatial == 1 ? "[1]" : "1";
  d.schema_text = fmt::format(
      "aten::max_pool{0}d{1}(Tensor self, int[{0}] kernel_size, int[{0}] stride=[], int[{0}] padding={3}, int[{0}] "
      "dilation={4}, bool ceil_mode=False) -> {2}",
      spatial, indices ? "_with_indices" : "", indices ? "(Tensor, Tensor)" : "Tensor", one, dil);
  d.infer = [=](const Call& c) -> Result<Types> {
    const Shape s = pool_shape(c, pool_args(c, spatial));
    if (!is_float(c.type(0).dtype) && !is_int(c.type(0).dtype))
      c.error(fmt::format("[pool.5] not defined on {}", name(c.type(0).dtype)));
    Types t{TensorType{c.type(0).dtype, s}};
    if (indices) t.push_back(TensorType{DType::i64, s});
    return t;
  };
  d.eval = [=](const Call& c, size_t r) -> Result<Point> {
    const Pool p = sliding_pool(c, pool_args(c, spatial), false);
    return r == 0 ? max_pool_point(c.type(0).dtype, p) : max_pool_index_point(c.type(0).dtype, p);
  };
  d.whole = [=](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const Pool p = sliding_pool(c, pool_args(c, spatial), false);
    if (!c.failed()) max_pool_whole(p, in[0], out[0], indices ? &out[1] : nullptr);
    return {};
  };
  d.agreement = Agreement::kEqual;
  return d;
}

std::vector<ir::Arg> args_with(const ir::Node& n, ir::Value* x, auto widen) {
  const Call c = Call::of(n);
  const PoolArgs a = pool_args(c, c.ints("kernel_size").size());
  return {x,
          ir::Arg::ints(widen(a.kernel, 1)),
          ir::Arg::ints(widen(a.stride, 1)),
          ir::Arg::ints(widen(a.padding, 0)),
          ir::Arg::ints(widen(a.dilation, 1)),
          a.ceil_mode};
}
std::vector<int64_t> with_row(const std::vector<int64_t>& v, int64_t row) { return {row, v[0]}; }

}  // namespace

std::vector<OpDef> define_max_pool() {
  OpDef one = definition(1, false), one_indices = definition(1, true), two = definition(2, false),
        two_indices = definition(2, true), three = definition(3, false), three_indices = definition(3, true);
  one.decompose = [](const ir::Node& n, Builder& b) -> Values {
    ir::Value* x = b("aten.unsqueeze", {n.arg("self"), -2});
    return b.done({b("aten.squeeze.dim", {b("aten.max_pool2d", args_with(n, x, with_row)), -2})});
  };
  one_indices.decompose = [](const ir::Node& n, Builder& b) -> Values {
    ir::Value* x = b("aten.unsqueeze", {n.arg("self"), -2});
    auto both = b.multi("aten.max_pool2d_with_indices", args_with(n, x, with_row));
    for (ir::Value*& v : both) v = b("aten.squeeze.dim", {v, -2});
    return b.done(both);
  };
  two.decompose = [](const ir::Node& n, Builder& b) -> Values {
    return b.done({b("aten.max_pool2d_with_indices", n.args())});
  };
  three_indices.stock = "aten::max_pool3d_with_indices.out";
  two_indices.stock = "aten::max_pool2d_with_indices.out";
  // Height and width first, then depth: a maximum does not mind.
  three.decompose = [](const ir::Node& n, Builder& b) -> Values {
    const Call c = Call::of(n);
    const PoolArgs a = pool_args(c, 3);
    const Shape &s = c.type(0).shape, &to = n.result()->tensor()->shape;
    if (c.failed() || !ir::is_static(s)) return std::vector<ir::Value*>{};
    const size_t r = s.size();
    const int64_t d = s[r - 3].value(), h = to[r - 2].value(), w = to[r - 1].value();
    if (ir::numel(s).value() == 0) return std::vector<ir::Value*>{};
    const auto last2 = [](const std::vector<int64_t>& v) { return ir::Arg::ints({v[1], v[2]}); };
    const auto depth = [](const std::vector<int64_t>& v, int64_t one) { return ir::Arg::ints({v[0], one}); };
    ir::Value* x = b("aten.view", {n.arg("self"), ir::Arg::ints({-1, d, s[r - 2].value(), s[r - 1].value()})});
    x = b("aten.max_pool2d", {x, last2(a.kernel), last2(a.stride), last2(a.padding), last2(a.dilation), a.ceil_mode});
    x = b("aten.view", {x, ir::Arg::ints({-1, 1, d, h * w})});
    x = b("aten.max_pool2d",
          {x, depth(a.kernel, 1), depth(a.stride, 1), depth(a.padding, 0), depth(a.dilation, 1), a.ceil_mode});
    return b.done({b("aten.view", {x, ir::Arg::ints(ir::static_sizes(to))})});
  };
  return {one, one_indices, two, two_indices, three, three_indices};
}
}  // namespace edgewright::ops
