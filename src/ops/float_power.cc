// src/ops/float_power.cc - power computed in f64. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_float_power() {
  std::vector<OpDef> all;
  for (const char* schema : {"aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
                             "aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
                             "aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor"}) {
    OpDef d;
    d.schema_text = schema;
    d.infer = [](const Call& c) -> Result<Types> {
      Shape s;
      for (size_t k = 0; k < c.num_operands(); ++k) s = broadcast(c, s, c.type(static_cast<int>(k)).shape);
      return Types{TensorType{DType::f64, std::move(s)}};
    };
    d.decompose = [](const ir::Node& n, Builder& b) {
      const auto wide = [&](const char* p) -> ir::Arg {
        const ir::Arg a = n.arg(p);
        return a.value() && a.value()->tensor() ? ir::Arg(b("aten._to_copy", {a, DType::f64})) : a;
      };
      const std::string overload = n.name().substr(n.name().rfind('.'));
      return b.done({b("aten.pow" + overload, {wide("self"), wide("exponent")})});
    };
    all.push_back(std::move(d));
  }
  return all;
}

}  // namespace edgewright::ops
