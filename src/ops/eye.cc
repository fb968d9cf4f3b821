// src/ops/eye.cc - ones on the diagonal. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_eye() {
  std::vector<OpDef> all;
  for (const char* head : {"eye(SymInt n", "eye.m(SymInt n, SymInt m"}) {
    OpDef d;
    d.schema_text = fmt::format(
        "aten::{}, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
        "Tensor",
        head);
    d.infer = [](const Call& c) -> Result<Types> {
      const Dim n = c.dim("n"), m = c.op().schema.index_of("m") >= 0 ? c.dim("m") : n;
      const DType t = c.dtype("dtype").value_or(kDefaultFloat);
      for (const Dim& x : {n, m})
        if ((x.is_constant() && x.value() < 0) || !is_number(t))
          return fail(Code::kUnsupported, "[eye.1] size {}, dtype {}", x.str(), name(t));
      return Types{TensorType{t, {n, m}}};
    };
    d.eval = [](const Call& c, size_t) -> Result<Point> {
      if (is_float(c.dtype("dtype").value_or(kDefaultFloat)))
        return float_point(
            [](const auto& in, Index at) { return typename std::decay_t<decltype(in)>::F(at[0] == at[1]); });
      return int_point([](const In&, Index at) { return int64_t{at[0] == at[1]}; });
    };
    // Where the row's number is the column's.
    d.decompose = [](const ir::Node& n, Builder& b) {
      const ir::Arg rows = n.arg("n"), columns = n.op().schema.index_of("m") >= 0 ? n.arg("m") : rows;
      ir::Value* same =
          b("aten.eq.Tensor", {b("aten.unsqueeze", {b("aten.arange", {rows}), 1}), b("aten.arange", {columns})});
      return b.done({b("aten._to_copy", {same, n.result()->tensor()->dtype})});
    };
    all.push_back(std::move(d));
  }
  return all;
}

}  // namespace edgewright::ops
