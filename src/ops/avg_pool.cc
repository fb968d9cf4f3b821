// src/ops/avg_pool.cc - aten.avg_pool1d/2d/3d: means over windows; padding counts unless count_include_pad is false.
#include "ops/pools.h"

namespace edgewright::ops {
namespace {

using Values = Result<std::vector<ir::Value*>>;

std::optional<int64_t> divisor_of(const Call& c) {
  if (c.op().schema.index_of("divisor_override") < 0 || !c.has("divisor_override")) return std::nullopt;
  const int64_t d = c.i("divisor_override");
  if (d == 0) c.error("[pool.6] divisor_override is 0");
  return d;
}
Pool make(const Call& c, size_t spatial) {
  Pool p = sliding_pool(c, pool_args(c, spatial), c.flag("count_include_pad"));
  p.divisor = divisor_of(c);
  return p;
}

OpDef definition(size_t spatial) {
  OpDef d;
  d.schema_text = fmt::format(
      "aten::avg_pool{0}d(Tensor self, int[{0}] kernel_size, int[{0}] stride=[], int[{0}] padding={1}, bool "
      "ceil_mode=False, bool count_include_pad=True{2}) -> Tensor",
      spatial, spatial == 1 ? "[0]" : "0", spatial == 1 ? "" : ", int? divisor_override=None");
  d.infer = [=](const Call& c) -> Result<Types> {
    const Shape s = pool_shape(c, pool_args(c, spatial));
    divisor_of(c);
    if (!is_float(c.type(0).dtype)) c.error(fmt::format("[pool.5] not defined on {}", name(c.type(0).dtype)));
    return Types{TensorType{c.type(0).dtype, s}};
  };
  d.eval = [=](const Call& c, size_t) -> Result<Point> { return avg_pool_point(c.type(0).dtype, make(c, spatial)); };
  d.whole = [=](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const Pool p = make(c, spatial);
    if (!c.failed()) avg_pool_whole(p, in[0], out[0]);
    return {};
  };
  d.agreement = Agreement::kReassociated;
  return d;
}

}  // namespace

std::vector<OpDef> define_avg_pool() {
  OpDef one = definition(1), two = definition(2), three = definition(3);
  two.stock = "aten::avg_pool2d.out";
  one.decompose = [](const ir::Node& n, Builder& b) -> Values {
    const Call c = Call::of(n);
    const PoolArgs a = pool_args(c, 1);
    ir::Value* x = b("aten.unsqueeze", {n.arg("self"), -2});
    x = b("aten.avg_pool2d", {x, ir::Arg::ints({1, a.kernel[0]}), ir::Arg::ints({1, a.stride[0]}),
                              ir::Arg::ints({0, a.padding[0]}), a.ceil_mode, n.arg("count_include_pad")});
    return b.done({b("aten.squeeze.dim", {x, -2})});
  };
  // Height and width first, then depth: the divisor is a product over the dims.
  three.decompose = [](const ir::Node& n, Builder& b) -> Values {
    const Call c = Call::of(n);
    const PoolArgs a = pool_args(c, 3);
    const Shape &s = c.type(0).shape, &to = n.result()->tensor()->shape;
    if (c.failed() || !ir::is_static(s) || ir::numel(s).value() == 0) return std::vector<ir::Value*>{};
    const size_t r = s.size();
    const int64_t d = s[r - 3].value(), h = to[r - 2].value(), w = to[r - 1].value();
    const auto last2 = [](const std::vector<int64_t>& v) { return ir::Arg::ints({v[1], v[2]}); };
    const auto depth = [](const std::vector<int64_t>& v, int64_t one) { return ir::Arg::ints({v[0], one}); };
    const bool overridden = c.has("divisor_override");
    ir::Value* x = b("aten.view", {n.arg("self"), ir::Arg::ints({-1, d, s[r - 2].value(), s[r - 1].value()})});
    x = b("aten.avg_pool2d", {x, last2(a.kernel), last2(a.stride), last2(a.padding), a.ceil_mode,
                              n.arg("count_include_pad"), overridden ? ir::Arg(1) : ir::Arg()});
    x = b("aten.view", {x, ir::Arg::ints({-1, 1, d, h * w})});
    x = b("aten.avg_pool2d", {x, depth(a.kernel, 1), depth(a.stride, 1), depth(a.padding, 0), a.ceil_mode,
                              n.arg("count_include_pad"), n.arg("divisor_override")});
    return b.done({b("aten.view", {x, ir::Arg::ints(ir::static_sizes(to))})});
  };
  return {one, two, three};
}
}  // namespace edgewright::ops
