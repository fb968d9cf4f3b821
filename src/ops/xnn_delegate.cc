// src/ops/xnn_delegate.cc - a region handed to XNNPACK as one call: its meaning is its body's, run on the inputs.
// The interpreter runs the body; here stands the type rule alone.
#include "ops/op_def.h"

namespace edgewright::ops {
namespace {

// [xnn.delegate.1] as many inputs as the body has, of the body's types; results are the body's outputs.
Result<Types> body_outputs(const Call& c) {
  const auto* body = c.raw("body").graph();
  if (!body || !*body) {
    c.error("[xnn.delegate.1] no body");
    return Types{};
  }
  if (c.num_operands() != (*body)->inputs().size()) c.error("[xnn.delegate.1] inputs do not fit the body");
  Types out;
  for (const ir::Arg& a : (*body)->outputs) {
    if (!a.value()) {
      c.error("[xnn.delegate.1] an output of the body is not a value");
      return Types{};
    }
    out.push_back(a.value()->type);
  }
  return out;
}

}  // namespace
std::vector<OpDef> define_xnn_delegate() {
  OpDef d;
  d.schema_text = "xnn::delegate(Tensor[] inputs, Graph body) -> Tensor[]";
  d.infer = body_outputs;
  return {d};
}
}  // namespace edgewright::ops
