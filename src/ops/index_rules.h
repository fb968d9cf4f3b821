// src/ops/index_rules.h - advanced indexing: self[i, :, j] with index tensors, None and masks. Depends on ops/pick_rules.h.
//
// An index tensor takes the place of one dim, a mask (bool or u8) of rank k that of k dims, standing for the k index tensors of
// its nonzero elements. All index tensors broadcast together. Their common dims come where the indexed dims stood if those are
// adjacent, and first if they are not.
#pragma once

#include "ops/families.h"
#include "ops/pick_rules.h"

namespace edgewright::ops {

struct Indexing {
  struct Source {
    size_t dim;   // of self
    int operand;  // -1 for a component of a mask
    Shape shape;  // of the index tensor
    BroadcastIndex broadcast;
  };
  size_t self_rank = 0, common_rank = 0, first = 0;  // common dims stand at `first` of the result
  std::vector<Source> sources;
  std::vector<size_t> kept;  // self's other dims, in order
  Shape self, common, result;
  bool has_mask = false;

  // Writes where result element `at` comes from; false where an index lies outside. get(source number, index) -> int.
  template <class Get>
  bool locate(const Get& get, Index at, int64_t* x) const {
    for (size_t k = 0; k < kept.size(); ++k) x[kept[k]] = at[k < first ? k : k + common_rank];
    IndexBuffer buffer;
    for (size_t j = 0; j < sources.size(); ++j) {
      const int64_t n = self[sources[j].dim].maybe().value_or(0);
      const int64_t i = checked_index(get(j, sources[j].broadcast(at.subspan(first, common_rank), buffer)), n, true);
      if (i < 0) return false;
      x[sources[j].dim] = i;
    }
    return true;
  }
};

// The shape rule of `indices` on `self`. Masks count as index tensors of unknown length, `masks[k]` where given.
// Errors: [index.1] more indices than dims, [index.2] a dtype that is neither an int's nor a mask's, [index.3] a mask whose
// sizes are not self's, shapes that do not broadcast.
Indexing indexing(const Call& c, std::string_view indices, const std::vector<int64_t>* masks = nullptr);

// Index tensors as contiguous i64 tensors, one per source, masks resolved; `plan` is made anew with their lengths.
struct Indices {
  Indexing plan;
  std::vector<ir::Tensor> tensors;
  int64_t operator()(size_t source, Index at) const {
    const ir::Tensor& t = tensors[source];
    int64_t i;
    std::memcpy(&i, t.data + t.offset_of(at) * 8, 8);
    return i;
  }
};
Result<Indices> resolve_indices(const Call& c, std::string_view indices, std::span<const ir::Tensor> in);

}  // namespace edgewright::ops
