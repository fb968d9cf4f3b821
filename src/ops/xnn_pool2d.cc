// src/ops/xnn_pool2d.cc - xnn.max_pool2d, xnn.avg_pool2d (padding does not count), xnn.global_avg_pool2d: NHWC, with a clamp.
#include "ops/pools.h"
#include "ops/xnn_quant.h"
#include "ops/xnn_window.h"

namespace edgewright::ops {
namespace {

struct Read {
  Window window;
  Clamp clamp;
  std::array<Dim, 2> size;
};
Read read(const Call& c) {
  Read r;
  const TensorType& x = c.tensor("x");
  if (x.rank() != 4) c.error("[xnn_pool2d.1] x must have rank 4");
  if (!is_float(x.dtype) && !is_quantized(c) && !(x.dtype == DType::i8 && c.name() == "xnn.max_pool2d"))
    c.error(fmt::format("[xnn_pool2d.2] x is {}", name(x.dtype)));
  r.clamp = clamp_of(c);
  if (c.failed()) return r;
  if (c.op().schema.index_of("kernel_size") < 0) {  // global
    r.size = {1, 1};
    return r;
  }
  const std::vector<int64_t> kernel = spatial_ints(c, "kernel_size", 2);
  r.window = window_of(c, kernel[0], kernel[1]);
  r.size = window_result(c, r.window, x.shape[1], x.shape[2], false);
  return r;
}
Result<Types> rule(const Call& c) {
  const Read r = read(c);
  const Shape s = c.type(0).rank() == 4 ? c.type(0).shape : Shape(4, 0);
  return Types{TensorType{c.type(0).dtype, {s[0], r.size[0], r.size[1], s[3]}}};
}
Pool make(const Call& c) {
  const Read r = read(c);
  Pool p;
  if (c.failed()) return p;
  const Shape& s = c.type(0).shape;
  p.first = 1;
  p.min = static_cast<double>(r.clamp.min);
  p.max = static_cast<double>(r.clamp.max);
  if (c.op().schema.index_of("kernel_size") < 0)
    p.axes = {PoolAxis::adaptive(s[1].value(), 1), PoolAxis::adaptive(s[2].value(), 1)};
  else
    for (const WindowAxis& a : window_axes(r.window, s, r.size, false)) p.axes.push_back(PoolAxis::sliding(a, false));
  return p;
}

OpDef definition(std::string schema, bool is_max,
                 std::function<Result<void>(const ir::Node&, const Read&, XnnEmitter&)> emit) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = rule;
  d.eval = [=](const Call& c, size_t) -> Result<Point> {
    return is_max ? max_pool_point(c.type(0).dtype, make(c)) : avg_pool_point(c.type(0).dtype, make(c));
  };
  d.whole = [=](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const Pool p = make(c);
    if (c.failed()) return {};
    if (is_max)
      max_pool_whole(p, in[0], out[0], nullptr);
    else
      avg_pool_whole(p, in[0], out[0]);
    return {};
  };
  d.lower = [emit](const ir::Node& n, XnnEmitter& out) -> Result<void> {
    const Call c = Call::of(n);
    const Read r = read(c);
    if (c.failed()) return fail(Code::kKeptOnHost, "{}", *c.failed());
    return emit(n, r, out);
  };
  d.agreement = is_max ? Agreement::kEqual : Agreement::kReassociated;
  return d;
}

}  // namespace

std::vector<OpDef> define_xnn_pool2d() {
  const auto x = [](const ir::Node& n) { return n.arg("x").value(); };
  const std::string global = "xnn::global_avg_pool2d(Tensor x, float min=-inf, float max=inf) -> Tensor";
  return {definition("xnn::max_pool2d(Tensor x, int[2] kernel_size, int[2] stride, int[4] padding, int[2] dilation, "
                     "float min=-inf, float max=inf) -> Tensor",
                     true,
                     [x](const ir::Node& n, const Read& r, XnnEmitter& out) {
                       return out.max_pool2d(x(n), n.result(), r.window, r.clamp);
                     }),
          definition("xnn::avg_pool2d(Tensor x, int[2] kernel_size, int[2] stride, int[4] padding, float min=-inf, "
                     "float max=inf) -> Tensor",
                     false,
                     [x](const ir::Node& n, const Read& r, XnnEmitter& out) {
                       return out.avg_pool2d(x(n), n.result(), r.window, r.clamp);
                     }),
          definition(global, false,
                     [x](const ir::Node& n, const Read& r, XnnEmitter& out) {
                       return out.global_avg_pool2d(x(n), n.result(), r.clamp);
                     }),
          quantized("xnn::q_global_avg_pool2d", global)};
}
}  // namespace edgewright::ops
