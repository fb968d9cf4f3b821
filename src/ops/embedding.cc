// src/ops/embedding.cc - rows of a table. Depends on ops/pick_rules.h.
#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

// [embedding.1] weight is a matrix. Indices count from 0 only.
Result<Types> infer_embedding(const Call& c) {
  const TensorType& w = c.tensor("weight");
  TensorType t{w.dtype, c.tensor("indices").shape};
  check_index_dtype(c, "indices", "[embedding.2]");
  if (w.rank() != 2) {
    c.error(fmt::format("[embedding.1] weight has {} dims, not 2", w.rank()));
    return Types{t};
  }
  t.shape.push_back(w.shape[1]);
  return Types{t};
}
auto pick_embedding(const Call& c) {
  return [rows = c.tensor("weight").shape[0].maybe().value_or(0)](const auto& ints, Index at, int64_t* x) -> int {
    x[0] = checked_index(ints.i(1, at.first(at.size() - 1)), rows, false);
    x[1] = at.back();
    return x[0] < 0 ? kOutside : 0;
  };
}
Result<void> whole_embedding(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const ir::Tensor weight = in[0].contiguous(), indices = in[1].contiguous();
  const size_t row = static_cast<size_t>(weight.sizes[1]) * size_of(weight.dtype);
  std::byte* to = out[0].mutable_data();
  for (int64_t k = 0, n = indices.numel(); k < n; ++k, to += row) {
    const int64_t i = ir::load_i(indices.dtype, indices.data, k);
    if (i < 0 || i >= weight.sizes[0])
      return fail(Code::kUsage, "{}: index {} in a table of {} rows", c.name(), i, weight.sizes[0]);
    std::memcpy(to, weight.data + static_cast<size_t>(i) * row, row);
  }
  return {};
}

}  // namespace

std::vector<OpDef> define_embedding() {
  OpDef d = picking(
      "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool "
      "sparse=False) -> Tensor",
      infer_embedding, [](const Call& c) { return pick_embedding(c); }, "aten::embedding.out");
  d.whole = whole_embedding;
  return {d};
}

}  // namespace edgewright::ops
