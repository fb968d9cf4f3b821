// src/ops/pow.cc - self to the power of exponent. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

// Ints by repeated squaring, wrapping; a negative exponent gives 0 but for bases 1 and -1.
int64_t int_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  int64_t r = 1;
  for (; exponent > 0; exponent >>= 1, base = wrap_mul(base, base))
    if (exponent & 1) r = wrap_mul(r, base);
  return r;
}
Formula power() {
  return floats<2>(
             [](auto x, auto p) { return num::unless_certain(num::pow(x, num::value(p)), num::lo(p) == num::hi(p)); })
      .ints<2>([](int64_t a, int64_t b) { return int_power(a, b); });
}
// The exponents that XNNPACK has a node for.
Result<void> lower(const ir::Node& n, XnnEmitter& x) {
  const auto p = constant_number(n, "exponent");
  const ir::Value *in = n.arg("self").value(), *out = n.result();
  if (p == 1.0) return x.copy(in, out);
  if (p == 2.0) return x.unary(XnnUnary::kSquare, in, out);
  if (p == 3.0) {
    const ir::Value* square = x.temporary(result_type_of(n));
    EW_TRY(x.unary(XnnUnary::kSquare, in, square));
    return x.binary(XnnBinary::kMultiply, square, in, out);
  }
  if (p == 0.5) return x.unary(XnnUnary::kSquareRoot, in, out);
  if (p == -0.5) return x.unary(XnnUnary::kReciprocalSquareRoot, in, out);
  if (p == -1.0) return x.binary(XnnBinary::kDivide, 1.0f, in, out);
  return fail(Code::kKeptOnHost, "{}: XNNPACK has no power but 1, 2, 3, 0.5, -0.5 and -1", n.name());
}

}  // namespace

std::vector<OpDef> define_pow() {
  const auto of = [](const char* schema, const char* stock) {
    return elementwise({.schema = schema,
                        .slots = {"self", "exponent"},
                        .rule = Rule::kPromote,
                        .formula = power(),
                        .choose = {},
                        .stock = stock});
  };
  return {
      of("aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", "aten::pow.Tensor_Tensor_out"),
      with_lower(of("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", "aten::pow.Tensor_Scalar_out"),
                 lower, Agreement::kReassociated),
      of("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", "aten::pow.Scalar_out")};
}

}  // namespace edgewright::ops
