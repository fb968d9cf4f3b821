// src/ops/index_map.h - the algebra of data movement on static shapes: chains of view, permute, expand, slice, select and their
// kin as one function from result elements to source elements. Depends on ops/view_rules.h.
//
// A dim of the result is a mixed-radix number: its factors, outermost first, are digits, and each digit steps through the
// source's elements (in row-major order) with its own stride; stride 0 repeats, a negative one walks backwards. Digits that step
// as one are kept as one, so two maps with the same sizes are the same function exactly when they compare equal.
#pragma once

#include "ops/view_rules.h"

namespace edgewright::ops {

class IndexMap {
 public:
  struct Factor {
    int64_t size = 1, stride = 0;
    bool operator==(const Factor&) const = default;
  };
  struct Dims {                   // of the result
    std::vector<Factor> factors;  // none for a dim of size 1
    bool operator==(const Dims&) const = default;
  };

  static IndexMap identity(std::vector<int64_t> sizes);
  // The same elements in row-major order under other sizes; nullopt where the number of elements differs.
  static std::optional<IndexMap> reshape(std::vector<int64_t> from, const std::vector<int64_t>& to);
  // What a node does to its first argument for result `r`: any view of view_rules.h, its functional twin, a flip or a repeat. nullopt for
  // other ops, symbolic shapes and empty results.
  static std::optional<IndexMap> of(const ir::Node& n, size_t r = 0);
  // First this map, then `next` on its result. nullopt where sizes do not fit, or where the composition has no such form (a
  // slice that cuts through a digit).
  std::optional<IndexMap> then(const IndexMap& next) const;
  // The result with its dims in another order; at the first index of one of them, which is gone.
  IndexMap permuted(const std::vector<int64_t>& perm) const;
  IndexMap at_first(size_t dim) const;

  const std::vector<int64_t>& source_sizes() const { return source_; }
  std::vector<int64_t> sizes() const;
  const std::vector<Dims>& dims() const { return dims_; }
  int64_t offset() const { return offset_; }
  // Number of the source's element that result element `at` shows.
  int64_t element(Index at) const;
  bool operator==(const IndexMap&) const = default;

  // Same sizes, every element in its place.
  bool is_identity() const;
  // All elements in row-major order: a view and nothing else.
  bool is_reshape() const;
  // perm where the map is permute(source, perm); sizes of 1 are matched in order.
  std::optional<std::vector<int64_t>> as_permutation() const;
  // Which dims only repeat (a whole dim of stride 0).
  std::vector<bool> repeated_dims() const;
  bool repeats() const;  // some digit has stride 0
  // The map without its repetition: dims that only repeat become 1. nullopt where a repeated digit shares a dim with others.
  std::optional<IndexMap> without_repeats() const;

  // One step of the shortest chain [view] [slice or select...] [permute] [expand] [view] [flip] found for the map.
  struct Step {
    enum Kind : uint8_t { kView, kSlice, kPermute, kExpand, kSelect, kFlip } kind;
    std::vector<int64_t> values;  // sizes, dims, sizes or dims; `start` is the index of a select
    int64_t dim = 0, start = 0, end = 0, step = 1;
    bool operator==(const Step&) const = default;
  };
  // Empty for the identity; nullopt where no such chain exists (overlapping windows, diagonals, a dim flipped in part).
  std::optional<std::vector<Step>> chain() const;

 private:
  std::vector<int64_t> source_;
  std::vector<Dims> dims_;
  int64_t offset_ = 0;
  void reverse(size_t dim);
  std::optional<std::vector<Step>> chain_over(const std::vector<int64_t>& base) const;
};

// Nodes for the steps: aten.view, aten.slice.Tensor, aten.permute, aten.expand, aten.select.int, aten.flip.
ir::Value* build(Builder& b, ir::Value* source, const std::vector<IndexMap::Step>& steps);

}  // namespace edgewright::ops
