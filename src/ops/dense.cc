#include "ops/dense.h"

namespace edgewright::ops {

ir::Tensor f32_or_f64(const ir::Tensor& t) {
  if (t.dtype == DType::f32 || t.dtype == DType::f64) return t;
  ir::Tensor out = ir::Tensor::empty(DType::f64, t.sizes);
  assign(out, elements<double>(t));
  return out;
}

ir::Tensor broadcast_view(const ir::Tensor& t, std::span<const int64_t> sizes) {
  EW_CHECK(t.sizes.size() <= sizes.size());
  ir::Tensor v = t;
  const size_t skip = sizes.size() - t.sizes.size();
  v.sizes.assign(sizes.begin(), sizes.end());
  v.strides.assign(sizes.size(), 0);
  for (size_t d = skip; d < sizes.size(); ++d) {
    EW_CHECK(t.sizes[d - skip] == sizes[d] || t.sizes[d - skip] == 1);
    if (t.sizes[d - skip] != 1) v.strides[d] = t.strides[d - skip];
  }
  return v;
}

ir::Tensor permuted_view(const ir::Tensor& t, std::span<const int64_t> perm) {
  ir::Tensor v = t;
  for (size_t d = 0; d < perm.size(); ++d) {
    v.sizes[d] = t.sizes[static_cast<size_t>(perm[d])];
    v.strides[d] = t.strides[static_cast<size_t>(perm[d])];
  }
  return v;
}

ir::Tensor contiguous_as(const ir::Tensor& t, std::vector<int64_t> sizes) {
  ir::Tensor v = t.contiguous();
  EW_CHECK(product(sizes) == v.numel());
  v.strides = ir::contiguous_strides(sizes);
  v.sizes = std::move(sizes);
  return v;
}

}  // namespace edgewright::ops
