// src/ops/unfold.cc - Tensor.unfold: windows along a dim, the window as a new last dim. Depends on ops/view_rules.h.
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

constexpr int64_t kMaxWindow = 256;  // written back one element of the window at a time

// [unfold.1] 0 <= size <= the dim's. [unfold.2] step > 0. A 0-dim tensor counts as one of size 1 (and has one window).
std::vector<Layout> unfold(const Call& c, const Layout& base) {
  const int64_t rank = static_cast<int64_t>(base.sizes.size());
  const int64_t d = c.axis("dimension", rank), size = c.i("size"), step = c.i("step");
  const Dim n = rank == 0 ? Dim(1) : base.sizes[static_cast<size_t>(d)];
  if (size < 0 || (n.is_constant() && size > n.value()))
    c.error(fmt::format("[unfold.1] a window of {} in a dim of size {}", size, n.str()));
  if (step <= 0) {
    c.error(fmt::format("[unfold.2] a step of {}", step));
    return {};
  }
  Layout out = base;
  const Dim stride = rank == 0 ? Dim(1) : base.strides[static_cast<size_t>(d)];
  if (rank > 0) {
    out.sizes[static_cast<size_t>(d)] = floordiv(n - Dim(size), step) + Dim(1);
    out.strides[static_cast<size_t>(d)] = Dim(step) * stride;
  }
  out.sizes.push_back(size);
  out.strides.push_back(stride);
  return {out};
}
// Windows must not share elements. The j-th elements of all windows are a strided slice of the base.
Result<ir::Value*> back(const ir::Node& n, size_t, ir::Value* base, ir::Value* written, Builder& b) {
  const Call c = Call::of(n);
  const int64_t size = c.i("size"), step = c.i("step"), rank = rank_of(base);
  if (rank == 0) return one(b, size == 0 ? base : b("aten.select.int", {written, 0, 0}));
  const int64_t d = c.axis("dimension", rank);
  if (step < size && !(shape_of(written)[static_cast<size_t>(d)] == Dim(1)))
    return fail(Code::kUnsupported, "unfold: a write through windows that share elements");
  if (size > kMaxWindow) return fail(Code::kUnsupported, "unfold: a write through windows of {} elements", size);
  const Dim windows = shape_of(written)[static_cast<size_t>(d)];
  if (!windows.is_constant())
    return fail(Code::kUnsupported, "unfold: a write through windows whose number is known only at run time");
  ir::Value* v = base;
  for (int64_t j = 0; j < size; ++j)
    v = b("aten.slice_scatter",
          {v, b("aten.select.int", {written, rank, j}), d, j, j + (windows.value() - 1) * step + 1, step});
  return one(b, v);
}

}  // namespace

std::vector<OpDef> define_unfold() {
  OpDef d = view_op("aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", unfold, back);
  d.stock = "aten::unfold_copy.out";
  return {
      d, twin_of("aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", unfold, "aten.unfold")};
}

}  // namespace edgewright::ops
