#include "ops/index_rules.h"

namespace edgewright::ops {

namespace {
bool is_mask(DType t) { return t == DType::b8 || t == DType::u8; }
}  // namespace

Indexing indexing(const Call& c, std::string_view indices, const std::vector<int64_t>* masks) {
  Indexing p;
  p.self = c.tensor("self").shape;
  p.self_rank = p.self.size();
  size_t dim = 0, mask = 0;
  std::vector<Shape> shapes;
  for (int k : c.operands(indices)) {
    if (k < 0) {
      if (dim < p.self_rank) p.kept.push_back(dim);
      ++dim;
      continue;
    }
    const TensorType& t = c.type(k);
    if (is_mask(t.dtype)) {
      p.has_mask = true;
      // A 0-dim mask would add a dim; programs have no use for it.
      if (t.rank() == 0) c.error("[index.2] a 0-dim mask");
      const Dim length = masks && mask < masks->size() ? Dim((*masks)[mask]) : c.fresh_symbol();
      ++mask;
      for (size_t j = 0; j < t.rank(); ++j, ++dim) {
        if (dim >= p.self_rank) break;
        if (t.shape[j].is_constant() && p.self[dim].is_constant() && !(t.shape[j] == p.self[dim]))
          c.error(
              fmt::format("[index.3] a mask of size {} for a dim of size {}", t.shape[j].value(), p.self[dim].value()));
        p.sources.push_back({dim, -1, {length}, {}});
      }
      continue;
    }
    if (t.dtype != DType::i64 && t.dtype != DType::i32)
      c.error(fmt::format("[index.2] an index of dtype {}", name(t.dtype)));
    if (dim < p.self_rank) p.sources.push_back({dim, k, t.shape, {}});
    ++dim;
  }
  if (dim > p.self_rank) c.error(fmt::format("[index.1] {} indices for {} dims", dim, p.self_rank));
  for (; dim < p.self_rank; ++dim) p.kept.push_back(dim);
  if (p.sources.empty()) c.error("[index.1] no index");
  if (c.failed()) return p;
  p.common = p.sources[0].shape;
  for (size_t j = 1; j < p.sources.size(); ++j) {
    // Lengths of masks are unknown: whichever is known wins.
    if (p.sources[j].shape.size() == 1 && p.common.size() == 1 && !p.sources[j].shape[0].is_constant() &&
        !p.common[0].is_constant())
      continue;
    p.common = broadcast(c, p.common, p.sources[j].shape);
  }
  p.common_rank = p.common.size();
  bool adjacent = true;
  for (size_t j = 1; j < p.sources.size(); ++j) adjacent &= p.sources[j].dim == p.sources[j - 1].dim + 1;
  p.first = adjacent ? p.sources[0].dim : 0;
  for (auto& s : p.sources) s.broadcast = BroadcastIndex(s.shape, p.common_rank);
  for (size_t k = 0; k < p.first; ++k) p.result.push_back(p.self[p.kept[k]]);
  p.result.insert(p.result.end(), p.common.begin(), p.common.end());
  for (size_t k = p.first; k < p.kept.size(); ++k) p.result.push_back(p.self[p.kept[k]]);
  if (p.result.size() > kMaxRank) c.error(fmt::format("a rank of {} is more than {}", p.result.size(), kMaxRank));
  return p;
}

Result<Indices> resolve_indices(const Call& c, std::string_view indices, std::span<const ir::Tensor> in) {
  Indices out;
  std::vector<int64_t> lengths;
  for (int k : c.operands(indices)) {
    if (k < 0) continue;
    const ir::Tensor t = in[static_cast<size_t>(k)].contiguous();
    const int64_t n = t.numel();
    if (!is_mask(t.dtype)) {
      ir::Tensor x = ir::Tensor::empty(DType::i64, t.sizes);
      for (int64_t i = 0; i < n; ++i) ir::store_i(DType::i64, x.mutable_data(), i, ir::load_i(t.dtype, t.data, i));
      out.tensors.push_back(std::move(x));
      continue;
    }
    std::vector<int64_t> hits;
    for (int64_t i = 0; i < n; ++i)
      if (ir::load_i(t.dtype, t.data, i) != 0) hits.push_back(i);
    const int64_t count = static_cast<int64_t>(hits.size());
    lengths.push_back(count);
    const auto strides = ir::contiguous_strides(t.sizes);
    for (size_t d = 0; d < t.sizes.size(); ++d) {
      ir::Tensor x = ir::Tensor::empty(DType::i64, {count});
      for (int64_t i = 0; i < count; ++i)
        ir::store_i(DType::i64, x.mutable_data(), i, hits[static_cast<size_t>(i)] / strides[d] % t.sizes[d]);
      out.tensors.push_back(std::move(x));
    }
  }
  out.plan = indexing(c, indices, &lengths);
  if (c.failed() || out.plan.sources.size() != out.tensors.size())
    return fail(Code::kUsage, "{}: {}", c.name(), c.failed().value_or("indices do not fit"));
  return out;
}

}  // namespace edgewright::ops
