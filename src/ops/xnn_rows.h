// src/ops/xnn_rows.h - rows chosen by constant indices, in XNNPACK: as slices side by side. Depends on ops/view_rules.h.
#pragma once

#include "ops/view_rules.h"

namespace edgewright::ops {

// The numbers of a constant int tensor in C order, negative ones counted from the end of a dim of size n; kKeptOnHost where it is
// no constant or a number lies outside.
inline Result<std::vector<int64_t>> constant_rows(const ir::Value* index, int64_t n) {
  if (!index->is_constant()) return fail(Code::kKeptOnHost, "the index is known only at run time");
  const DType t = index->tensor()->dtype;
  if (!is_int(t) || t == DType::u8) return fail(Code::kKeptOnHost, "the index is {}", name(t));
  const ir::Tensor dense = index->data->contiguous();
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < dense.numel(); ++i) {
    int64_t r = ir::load_i(t, dense.data, i);
    if (r < 0) r += n;
    if (r < 0 || r >= n) return fail(Code::kKeptOnHost, "an index outside of the dim");
    rows.push_back(r);
  }
  return rows;
}

// out = in with these rows of `axis`, in this order.
inline Result<void> emit_rows(XnnEmitter& e, const ir::Value* in, const ir::Value* out, int64_t axis,
                              const std::vector<int64_t>& rows) {
  std::vector<Cut> runs;
  for (int64_t r : rows) {
    if (!runs.empty() && runs.back().start + runs.back().length == r)
      ++runs.back().length;
    else
      runs.push_back({r, 1});
  }
  if (runs.empty()) return fail(Code::kKeptOnHost, "the result is empty");
  return emit_slices(e, in, out, axis, runs);
}

}  // namespace edgewright::ops
