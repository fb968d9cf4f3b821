// src/ops/log_sigmoid.cc - log(sigmoid(x)) without overflow. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_log_sigmoid() {
  const auto f =
      floats<1>([](auto x) { return num::minimum(x, decltype(x)(0.0)) - num::log1p(num::exp(-num::abs(x))); });
  const auto parts = [](const ir::Node& n, Builder& b) {
    ir::Value* z = b("aten.exp", {b("aten.neg", {b("aten.abs", {n.arg("self")})})});
    return std::pair(b("aten.sub.Tensor", {b("aten.clamp", {n.arg("self"), ir::Arg(), 0}), b("aten.log1p", {z})}), z);
  };
  OpDef forward = unary_same("aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", f);
  forward.whole = {};
  // The second result serves the gradient; on CPU it holds exp(-|x|).
  forward.infer = [](const Call& c) -> Result<Types> { return Types{c.type(0), c.type(0)}; };
  forward.eval = [one = forward.eval](const Call& c, size_t r) -> Result<Point> {
    if (r == 0) return one(c, 0);
    return float_point([](const auto& in, Index at) { return num::exp(-num::abs(in.f(0, at))); });
  };
  forward.decompose = [parts](const ir::Node& n, Builder& b) {
    const auto [y, z] = parts(n, b);
    return b.done({y, z});
  };
  return {with_decompose(unary_same("aten::log_sigmoid(Tensor self) -> Tensor", f),
                         [parts](const ir::Node& n, Builder& b) { return b.done({parts(n, b).first}); }),
          std::move(forward)};
}

}  // namespace edgewright::ops
