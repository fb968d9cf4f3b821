// src/ops/asserts.cc - run-time assertions of exported programs: they compute nothing, and what they state was checked by the exporter. Dead code. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_asserts() {
  std::vector<OpDef> all;
  for (const char* schema :
       {"aten::_assert_scalar(Scalar self, str assert_msg) -> ()", "aten::_assert_async(Tensor self) -> ()",
        "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
        "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, "
        "*, Device? device=None, Layout? layout=None) -> ()",
        "aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
        "aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()"}) {
    OpDef d;
    d.schema_text = schema;
    d.infer = [](const Call&) -> Result<Types> { return Types{}; };
    d.numbers = [](const Call&, std::span<const ir::Tensor>) -> Result<std::vector<Scalar>> {
      return std::vector<Scalar>{};
    };
    all.push_back(std::move(d));
  }
  return all;
}

}  // namespace edgewright::ops
