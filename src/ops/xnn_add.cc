// src/ops/xnn_add.cc - xnn.add, sub, mul, div, minimum, maximum: XNNPACK's binary nodes, which clamp their result.
#include "ops/dense.h"
#include "ops/xnn_quant.h"
#include "ops/xnn_window.h"

namespace edgewright::ops {
namespace {

Result<Types> rule(const Call& c) {
  const TensorType &a = c.tensor("a"), &b = c.tensor("b");
  if (!is_float(a.dtype) || a.dtype != b.dtype)
    c.error(fmt::format("[xnn_binary.1] operands are {} and {}", name(a.dtype), name(b.dtype)));
  clamp_of(c);
  return Types{TensorType{a.dtype, broadcast(c, a.shape, b.shape)}};
}

std::string schema(const char* op) {
  return fmt::format("xnn::{}(Tensor a, Tensor b, float min=-inf, float max=inf) -> Tensor", op);
}

template <class L>
OpDef definition(const char* op, XnnBinary kind, L formula) {
  OpDef d;
  d.schema_text = schema(op);
  d.infer = rule;
  d.eval = [formula](const Call& c, size_t) -> Result<Point> {
    const std::vector<int64_t> a = ir::static_sizes(c.type(0).shape), b = ir::static_sizes(c.type(1).shape);
    const double lo = c.f("min"), hi = c.f("max");
    return float_point([=](const auto& in, Index at) {
      IndexBuffer x, y;
      return clamped(formula(in.f(0, broadcast_index(at, a, x)), in.f(1, broadcast_index(at, b, y))), lo, hi);
    });
  };
  d.whole = [formula](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    std::vector<double> a = to_doubles(broadcast_view(in[0], out[0].sizes));
    const std::vector<double> b = to_doubles(broadcast_view(in[1], out[0].sizes));
    const double lo = c.f("min"), hi = c.f("max");
    for (size_t i = 0; i < a.size(); ++i) a[i] = clamped(formula(a[i], b[i]), lo, hi);
    assign(out[0], a);
    return {};
  };
  d.lower = [kind](const ir::Node& n, XnnEmitter& out) -> Result<void> {
    const Call c = Call::of(n);
    const Clamp k = clamp_of(c);
    if (c.failed()) return fail(Code::kKeptOnHost, "{}", *c.failed());
    return out.binary(kind, n.arg("a").value(), n.arg("b").value(), n.result(), k);
  };
  d.agreement = Agreement::kEqual;
  return d;
}

}  // namespace

std::vector<OpDef> define_xnn_add() {
  return {definition("add", XnnBinary::kAdd, [](auto a, auto b) { return a + b; }),
          definition("sub", XnnBinary::kSubtract, [](auto a, auto b) { return a - b; }),
          definition("mul", XnnBinary::kMultiply, [](auto a, auto b) { return a * b; }),
          definition("div", XnnBinary::kDivide, [](auto a, auto b) { return a / b; }),
          definition("minimum", XnnBinary::kMinimum, [](auto a, auto b) { return num::minimum(a, b); }),
          definition("maximum", XnnBinary::kMaximum, [](auto a, auto b) { return num::maximum(a, b); }),
          quantized("xnn::q_add", schema("add")),
          quantized("xnn::q_sub", schema("sub")),
          quantized("xnn::q_mul", schema("mul"))};
}
}  // namespace edgewright::ops
