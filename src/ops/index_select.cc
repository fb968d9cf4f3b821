// src/ops/index_select.cc - rows chosen by an index tensor: index_select, take. Depends on ops/pick_rules.h.
#include <algorithm>

#include "ops/pick_rules.h"
#include "ops/xnn_rows.h"

namespace edgewright::ops {
namespace {

// [index_select.1] index has at most one dim.
Result<Types> infer_index_select(const Call& c) {
  TensorType t = c.tensor("self");
  const Shape& index = c.tensor("index").shape;
  check_index_dtype(c, "index", "[index_select.2]");
  if (index.size() > 1) c.error(fmt::format("[index_select.1] index has {} dims", index.size()));
  const int64_t d = c.axis("dim", static_cast<int64_t>(t.rank()));
  if (t.rank() > 0) t.shape[static_cast<size_t>(d)] = index.empty() ? Dim(1) : index[0];
  return Types{t};
}
auto pick_index_select(const Call& c) {
  const Shape& s = c.tensor("self").shape;
  const size_t d = static_cast<size_t>(c.axis("dim", static_cast<int64_t>(s.size())));
  return [d, n = s.empty() ? 1 : s[d].maybe().value_or(0), rank = s.size(), scalar = c.tensor("index").rank() == 0](
             const auto& ints, Index at, int64_t* x) -> int {
    std::copy(at.begin(), at.end(), x);
    const int64_t row = rank == 0 ? 0 : at[d];
    const int64_t i = checked_index(ints.i(1, scalar ? Index{} : Index{&row, 1}), n, false);
    if (i < 0) return kOutside;
    if (rank > 0) x[d] = i;
    return 0;
  };
}

Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  const Call c = Call::of(n);
  const Shape& s = c.tensor("self").shape;
  if (s.empty()) return fail(Code::kKeptOnHost, "self has no dims");
  const int64_t d = c.axis("dim", static_cast<int64_t>(s.size()));
  const Dim& size = s[static_cast<size_t>(d)];
  if (!size.is_constant()) return fail(Code::kKeptOnHost, "the dim's size is known only at run time");
  EW_ASSIGN(const std::vector<int64_t> rows, constant_rows(n.arg("index").value(), size.value()));
  return emit_rows(out, self_of(n), n.result(), d, rows);
}

// --- take: of the flattened tensor, negatives counted from the end ---
Result<Types> infer_take(const Call& c) {
  if (c.tensor("index").dtype != DType::i64) c.error("[take.1] index is not i64");
  return Types{TensorType{c.tensor("self").dtype, c.tensor("index").shape}};
}
auto pick_take(const Call& c) {
  const auto sizes =
      is_static(c.tensor("self").shape) ? ir::static_sizes(c.tensor("self").shape) : std::vector<int64_t>{};
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return [sizes, n](const auto& ints, Index at, int64_t* x) -> int {
    int64_t i = checked_index(ints.i(1, at), n, true);
    if (i < 0) return kOutside;
    for (size_t d = sizes.size(); d-- > 0; i /= sizes[d]) x[d] = i % sizes[d];
    return 0;
  };
}

}  // namespace

std::vector<OpDef> define_index_select() {
  OpDef take = picking(
      "aten::take(Tensor self, Tensor index) -> Tensor", infer_take, [](const Call& c) { return pick_take(c); }, "");
  take.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    ir::Value* flat = b("aten.view", {self_of(n), ir::Arg::ints({-1})});
    return all(b, {b("aten.index.Tensor", {flat, ir::Arg::values({n.args()[1].value()})})});
  };
  OpDef select = picking(
      "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", infer_index_select,
      [](const Call& c) { return pick_index_select(c); }, "aten::index_select.out");
  select.lower = lower;
  return {select, take};
}

}  // namespace edgewright::ops
