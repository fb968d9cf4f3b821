// src/ops/sgn.cc - sign for real numbers. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_sgn() {
  OpDef d;
  d.schema_text = "aten::sgn(Tensor self) -> Tensor";
  d.infer = infer_same;
  d.decompose = [](const ir::Node& n, Builder& b) { return b.done({b("aten.sign", {n.arg("self")})}); };
  return {std::move(d)};
}

}  // namespace edgewright::ops
