// src/ops/masked_select.cc - elements where a mask is true: masked_select, nonzero, masked_scatter. Depends on ops/pick_rules.h.
//
// How many elements results have is known only at run time: `whole` allocates them.
#include <algorithm>

#include "ops/families.h"
#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

// [masked_select.1] mask is bool.
void check_mask(const Call& c) {
  if (!is_bool(c.tensor("mask").dtype))
    c.error(fmt::format("[masked_select.1] mask is {}, not bool", name(c.tensor("mask").dtype)));
}
Result<Types> infer_select(const Call& c) {
  check_mask(c);
  broadcast(c, c.tensor("self").shape, c.tensor("mask").shape);
  return Types{TensorType{c.tensor("self").dtype, {c.fresh_symbol()}}};
}
Result<void> whole_select(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const std::vector<int64_t> sizes = ir::static_sizes(broadcast(c, c.tensor("self").shape, c.tensor("mask").shape));
  const BroadcastIndex self(c.tensor("self").shape, sizes.size()), mask(c.tensor("mask").shape, sizes.size());
  const size_t width = size_of(in[0].dtype);
  std::vector<std::byte> bytes;
  std::vector<int64_t> at(sizes.size(), 0);
  IndexBuffer buffer{};
  if (std::find(sizes.begin(), sizes.end(), 0) == sizes.end()) {
    do {
      if (ir::load_i(in[1].dtype, in[1].data, in[1].offset_of(mask(at, buffer))) == 0) continue;
      const std::byte* from = in[0].data + in[0].offset_of(self(at, buffer)) * static_cast<int64_t>(width);
      bytes.insert(bytes.end(), from, from + width);
    } while (next_index(at, sizes));
  }
  out[0] = ir::Tensor::empty(in[0].dtype, {static_cast<int64_t>(bytes.size() / width)});
  std::copy(bytes.begin(), bytes.end(), out[0].mutable_data());
  return {};
}

// One row of indices per element that is not zero (NaN is not).
Result<Types> infer_nonzero(const Call& c) {
  return Types{TensorType{DType::i64, {c.fresh_symbol(), static_cast<int64_t>(c.tensor("self").rank())}}};
}
Result<void> whole_nonzero(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const DType t = in[0].dtype;
  if (!is_number(t)) return fail(Code::kUnsupported, "{}: {}", c.name(), name(t));
  const std::vector<int64_t>& sizes = in[0].sizes;
  std::vector<int64_t> at(sizes.size(), 0), rows;
  int64_t count = 0;
  if (std::find(sizes.begin(), sizes.end(), 0) == sizes.end()) {
    do {
      const int64_t o = in[0].offset_of(at);
      if (is_float(t) ? ir::load_f(t, in[0].data, o) == 0 : ir::load_i(t, in[0].data, o) == 0) continue;
      rows.insert(rows.end(), at.begin(), at.end());
      ++count;
    } while (next_index(at, sizes));
  }
  out[0] = ir::Tensor::empty(DType::i64, {count, static_cast<int64_t>(sizes.size())});
  store_block(DType::i64, out[0].mutable_data(), 0, static_cast<int64_t>(rows.size()), rows.data());
  return {};
}

// self with its elements under the mask replaced by source's, in order. [masked_scatter.1] source has self's dtype; that it has
// enough elements shows at run time.
Result<Types> infer_scatter(const Call& c) {
  check_mask(c);
  const TensorType& t = c.tensor("self");
  if (c.tensor("source").dtype != t.dtype)
    c.error(fmt::format("[masked_scatter.1] source is {}, self {}", name(c.tensor("source").dtype), name(t.dtype)));
  return Types{TensorType{t.dtype, broadcast(c, t.shape, c.tensor("mask").shape)}};
}
Result<void> whole_scatter(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const std::vector<int64_t>& sizes = out[0].sizes;
  const BroadcastIndex self(c.tensor("self").shape, sizes.size()), mask(c.tensor("mask").shape, sizes.size());
  const ir::Tensor source = in[2].contiguous();
  const size_t width = size_of(in[0].dtype);
  const int64_t given = source.numel();
  std::byte* to = out[0].mutable_data();
  std::vector<int64_t> at(sizes.size(), 0);
  IndexBuffer buffer{};
  int64_t taken = 0;
  for (int64_t i = 0, n = out[0].numel(); i < n; ++i, to += width) {
    const std::byte* from;
    if (ir::load_i(in[1].dtype, in[1].data, in[1].offset_of(mask(at, buffer))) != 0) {
      if (taken == given) return fail(Code::kUsage, "{}: source has only {} elements", c.name(), given);
      from = source.data + static_cast<size_t>(taken++) * width;
    } else {
      from = in[0].data + in[0].offset_of(self(at, buffer)) * static_cast<int64_t>(width);
    }
    std::memcpy(to, from, width);
    next_index(at, sizes);
  }
  return {};
}

OpDef named(const char* schema, Result<Types> (*infer)(const Call&),
            Result<void> (*whole)(const Call&, std::span<const ir::Tensor>, std::span<ir::Tensor>), const char* stock) {
  OpDef d;
  d.schema_text = schema;
  d.infer = infer;
  d.whole = whole;
  d.stock = stock;
  return d;
}

}  // namespace

std::vector<OpDef> define_masked_select() {
  return {named("aten::masked_select(Tensor self, Tensor mask) -> Tensor", infer_select, whole_select,
                "aten::masked_select.out"),
          named("aten::nonzero(Tensor self) -> Tensor", infer_nonzero, whole_nonzero, "aten::nonzero.out"),
          named("aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", infer_scatter, whole_scatter,
                "aten::masked_scatter.out")};
}

}  // namespace edgewright::ops
