// src/ops/plain_blocks.h - quantize and dequantize by blocks in plain ops: broadcast arithmetic on a tensor whose blocked dims are
// split. For decompositions. Depends on ops/quantization.h.
#pragma once

#include "ops/dense.h"
#include "ops/quantization.h"

namespace edgewright::ops {

// The input with its blocked dims split in two, and scales shaped to broadcast against it; null where sizes must be known for that
// and are not.
class PlainBlocks {
 public:
  PlainBlocks(const ir::Node& n, Builder& b, std::vector<int64_t> block, bool reduces_all = false)
      : n_(n), b_(b), block_(std::move(block)) {
    const Shape& s = n.arg("input").value()->tensor()->shape;
    for (size_t d = 0; d < s.size(); ++d) {
      const bool whole = s[d] == Dim(block_[d]) || s[d] == Dim(0);
      if (whole || block_[d] == 1) {
        if (whole && (block_[d] != 1 || reduces_all || s[d] == Dim(0)))
          reduced_.push_back(static_cast<int64_t>(split_.size()));
        split_.push_back(s[d].maybe().value_or(-1));
      } else {
        splits_ = true;
        split_.push_back(s[d].maybe().value_or(0) / block_[d]);
        reduced_.push_back(static_cast<int64_t>(split_.size()));
        split_.push_back(block_[d]);
      }
      is_static_ = is_static_ && s[d].is_constant();
    }
  }
  bool ok() const { return is_static_ || !splits_; }
  ir::Value* input() {
    ir::Value* x = n_.arg("input").value();
    return splits_ ? b_("aten.view", {x, ir::Arg::ints(split_)}) : x;
  }
  ir::Value* shaped(ir::Value* v) {
    if (is_static_) {
      std::vector<int64_t> shape = split_;
      for (int64_t d : reduced_) shape[static_cast<size_t>(d)] = 1;
      return v->tensor()->shape == Shape(shape.begin(), shape.end()) ? v : b_("aten.view", {v, ir::Arg::ints(shape)});
    }
    if (v->tensor()->rank() == split_.size()) return v;
    for (int64_t d : reduced_) v = v ? b_("aten.unsqueeze", {v, d}) : v;
    return v;
  }
  ir::Value* whole(ir::Value* v) {
    if (!splits_) return v;
    return b_("aten.view", {v, ir::Arg::ints(ir::static_sizes(n_.arg("input").value()->tensor()->shape))});
  }
  ir::Value* cast(ir::Value* v, DType t) { return !v || v->tensor()->dtype == t ? v : b_("aten._to_copy", {v, t}); }
  // Whether shaped() can shape it.
  bool fits(const ir::Value* v) const {
    const size_t rank = n_.arg("input").value()->tensor()->rank();
    return is_static_ || v->tensor()->rank() == rank || v->tensor()->rank() + reduced_.size() == rank;
  }
  const std::vector<int64_t>& reduced() const { return reduced_; }
  bool splits() const { return splits_; }

 private:
  const ir::Node& n_;
  Builder& b_;
  std::vector<int64_t> block_, split_, reduced_;
  bool splits_ = false, is_static_ = true;
};

// The block sizes of an op with "axis": whole dims but for that one. Open sizes become 1.
inline std::vector<int64_t> channel_block(const Call& c) {
  std::vector<int64_t> block;
  for (const Dim& d : c.type(0).shape) block.push_back(std::max<int64_t>(d.maybe().value_or(1), 1));
  if (c.tensor("scales").shape.size() == 1 && !(c.tensor("scales").shape[0] == Dim(1)) && !block.empty())
    block[static_cast<size_t>(c.axis("axis", c.rank("input")))] = 1;
  return block;
}

// Parameter names, and how an op goes about it. Both give an empty list where sizes must be known and are not.
struct PlainSteps {
  const char *scale = "scales", *zero_point = "zero_points";
  double lo = 0, hi = 0;              // quantize: the bounds
  bool adds_before_rounding = false;  // quantize
  bool converts_input = false;        // quantize: to f32 first
  bool in_result = false;             // dequantize: the difference is taken in the result's dtype
};
Result<std::vector<ir::Value*>> plain_quantizing(const ir::Node& n, Builder& b, std::vector<int64_t> block,
                                                 const PlainSteps& steps);
Result<std::vector<ir::Value*>> plain_dequantizing(const ir::Node& n, Builder& b, std::vector<int64_t> block,
                                                   const PlainSteps& steps);

}  // namespace edgewright::ops
