// src/ops/dropout.cc - the identity at inference. [dropout.1] train is False. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

Result<Types> identity(const Call& c) {
  if (c.has("train") && c.flag("train") && !(c.f("p") == 0))
    return fail(Code::kUnsupported, "{}: [dropout.1] training mode is random", c.name());
  return infer_same(c);
}

}  // namespace

std::vector<OpDef> define_dropout() {
  std::vector<OpDef> all;
  for (const char* schema : {"aten::dropout(Tensor input, float p, bool train) -> Tensor",
                             "aten::feature_dropout(Tensor input, float p, bool train) -> Tensor",
                             "aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor"}) {
    OpDef d;
    d.schema_text = schema;
    d.infer = identity;
    d.decompose = [](const ir::Node& n, Builder& b) { return b.done({n.arg("input").value()}); };
    all.push_back(std::move(d));
  }
  OpDef native;
  native.schema_text = "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)";
  native.infer = [](const Call& c) -> Result<Types> {
    EW_ASSIGN(const Types t, identity(c));
    return Types{t[0], TensorType{DType::b8, c.type(0).shape}};
  };
  native.decompose = [](const ir::Node& n, Builder& b) {
    return b.done({n.arg("input").value(), b("aten.ones_like", {n.arg("input"), DType::b8})});
  };
  all.push_back(std::move(native));
  return all;
}

}  // namespace edgewright::ops
