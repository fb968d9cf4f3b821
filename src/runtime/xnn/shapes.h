// src/runtime/xnn/shapes.h - shape inference over an XNNPACK graph, which also is its check: XNNPACK trusts its caller about
// filters, biases, permutations and the like, so nothing reaches it that has not passed here. Depends on format/xnn_payload.h.
#pragma once

#include <vector>

#include "format/xnn_payload.h"

namespace edgewright::runtime {

inline constexpr size_t kMaxXnnRank = 6;  // XNN_MAX_TENSOR_DIMS

struct XnnShape {
  uint8_t rank = 0;
  bool known = false;
  int64_t dims[kMaxXnnRank] = {};

  int64_t numel() const {
    int64_t n = 1;
    for (uint8_t d = 0; d < rank; ++d) n *= dims[d];
    return n;
  }
  bool operator==(const XnnShape& o) const {
    if (rank != o.rank || known != o.known) return false;
    for (uint8_t d = 0; d < rank; ++d)
      if (dims[d] != o.dims[d]) return false;
    return true;
  }
};

class XnnShapes {
 public:
  // Checks what does not depend on input shapes: ids, constants' sizes, quantization parameters, where static data is a must.
  // `graph` must outlive this. Errors: kMalformed, kUnsupported.
  static Result<XnnShapes> make(const xnn::Graph& graph);

  // Index into graph.values of the value with this id. Every id that a node names exists.
  uint32_t index_of(uint32_t id) const { return index_[id]; }
  // Bytes that a constant value of these dims must have.
  static uint64_t constant_bytes(const xnn::Value& v);

  // Shapes of all values for the given shapes of external inputs (set with set_input), without allocation.
  // Errors: kUsage where a node cannot take the shape it gets.
  void set_input(uint32_t value, const XnnShape& s) { shapes_[value] = s; }
  Result<void> infer();
  const XnnShape& shape(uint32_t value) const { return shapes_[value]; }

 private:
  explicit XnnShapes(const xnn::Graph& g) : graph_(&g) {}
  Result<void> check_values();
  Result<void> check_nodes();
  Result<void> infer_node(const xnn::Node& n);

  const xnn::Graph* graph_;
  std::vector<uint32_t> index_;  // by id
  std::vector<XnnShape> shapes_;
  int64_t given_ = 0;  // elements of all constants
};

}  // namespace edgewright::runtime
