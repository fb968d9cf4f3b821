// src/ops/view_rules.h - what all views share: a result is its base's storage read with other sizes, strides and offset.
// Depends on ops/{op_def,build,xnn_emitter}.h.
//
// A view op states one thing: the layout of each result, given the layout of its base. Shape rule, element-wise meaning and
// whole-tensor meaning follow from it, and so does the aliasing that PyTorch promises.
#pragma once

#include "ops/build.h"
#include "ops/op_def.h"
#include "ops/xnn_emitter.h"

namespace edgewright::ops {

// Where a tensor's elements lie, in elements from the start of its base. While shapes are symbolic only `sizes` means anything.
struct Layout {
  Shape sizes, strides;
  Dim offset = 0;
};
// Layouts of all results; records what is wrong in the Call.
using LayoutRule = std::function<std::vector<Layout>(const Call&, const Layout& base)>;
// See OpDef::scatter_back.
using ScatterBack =
    std::function<Result<ir::Value*>(const ir::Node& view, size_t r, ir::Value* base, ir::Value* written, Builder&)>;

// The strides under which a tensor of `sizes` and `strides` can be seen as `new_sizes` without a copy, if it can (PyTorch's
// condition for view(); reshape() copies where it does not hold). Both must have the same, non-negative number of elements.
std::optional<std::vector<int64_t>> reshape_strides(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                                                    std::span<const int64_t> new_sizes);
inline bool reshape_is_view(std::span<const int64_t> sizes, std::span<const int64_t> strides,
                            std::span<const int64_t> new_sizes) {
  return reshape_strides(sizes, strides, new_sizes).has_value();
}
// Ops that give a view where reshape_is_view allows one and a copy otherwise.
inline bool views_or_copies(const ir::Node& n) {
  return n.is("aten.reshape") || n.is("aten.reshape_as") || n.is("aten.ravel") || n.is("aten.flatten.using_ints") ||
         n.is("aten._reshape_alias");
}
// `wanted` with its -1 (at most one) replaced so that the number of elements is that of `self`. Errors are recorded in `c`.
Shape resolve_sizes(const Call& c, const Shape& self, Shape wanted);
// The view of `base` with these sizes. Strides are worked out where shapes are static; a base that would need a copy gives
// strides of a contiguous copy (the caller makes it).
Layout reshaped(const Layout& base, Shape sizes);

// A view of `self`: sets schema_text, infer, eval, whole, view_of and scatter_back.
OpDef view_op(std::string schema, LayoutRule rule, ScatterBack back);
// A functional op that moves as a view does but gives fresh storage.
OpDef moving_op(std::string schema, LayoutRule rule);
// The functional twin (`view_copy` of `view`): the same arguments in the same order; always decomposed into `view_name`.
OpDef twin_of(std::string schema, LayoutRule rule, std::string view_name);
// The layouts of all results of a node made by view_op, moving_op or twin_of, for a contiguous base; empty for other ops and
// where the rule refuses.
std::vector<Layout> layouts_of(const ir::Node& n);
// A decomposition into one op with the same arguments.
std::function<Result<std::vector<ir::Value*>>(const ir::Node&, Builder&)> becomes(std::string op);
// A view that is nothing but another one under a different name: decomposes with `args`.
using ArgsOf = std::function<std::vector<ir::Arg>(const ir::Node&, Builder&)>;
std::function<Result<std::vector<ir::Value*>>(const ir::Node&, Builder&)> becomes(std::string op, ArgsOf args);

// Scatter-back of every view that keeps all elements in row-major order: the written value under the base's sizes.
Result<ir::Value*> scatter_reshaped(const ir::Node& view, size_t r, ir::Value* base, ir::Value* written, Builder& b);

// --- small helpers for definitions ---
const Shape& shape_of(const ir::Value* v);  // of a tensor value
inline int64_t rank_of(const ir::Value* v) { return static_cast<int64_t>(shape_of(v).size()); }
inline ir::Value* self_of(const ir::Node& n) { return n.args()[0].value(); }
// sizes of `v` as arguments: ints, or sym_size nodes where symbolic.
ir::Arg size_arg(Builder& b, ir::Value* v, int64_t d);
ir::Arg size_args(Builder& b, ir::Value* v);
// Sum and product of int arguments: constants where both are, else nodes.
ir::Arg sum_arg(Builder& b, const ir::Arg& x, const ir::Arg& y);
ir::Arg product_arg(Builder& b, const ir::Arg& x, const ir::Arg& y);
// The first of the results, or what went wrong.
Result<ir::Value*> one(Builder& b, ir::Value* v);
Result<std::vector<ir::Value*>> all(Builder& b, std::vector<ir::Value*> v);
// Index into `0..n` with negatives counted from the end; `n` may be symbolic. Records an error where it is out of range for sure.
Dim wrapped_index(const Call& c, const Dim& index, const Dim& n);
// Python's slice bounds: start and length of self[start:end:step] along a dim of size n.
struct SliceRange {
  Dim start, length;
};
SliceRange slice_range(const Call& c, const std::optional<Dim>& start, const std::optional<Dim>& end, const Dim& step,
                       const Dim& n);
// The optional int argument.
std::optional<Dim> maybe_dim(const Call& c, std::string_view param);
// perm[i] is the base dim that result dim i shows.
Layout permuted(const Layout& base, const std::vector<int64_t>& perm);
std::vector<int64_t> inverse(const std::vector<int64_t>& perm);

// Node lowered as a reshape of its first argument.
Result<void> lower_as_reshape(const ir::Node& n, XnnEmitter& out);
// Takes [start, start+length) along `axis`; keeps the rank.
Result<void> emit_slice(XnnEmitter& out, const ir::Value* in, const ir::Value* result, int64_t axis, const Dim& start,
                        const Dim& length);
// Pieces [start, start+length) of `in` along `axis`, side by side; lengths of 0 are left out. At most kMaxSlices pieces.
struct Cut {
  int64_t start, length;
};
inline constexpr size_t kMaxSlices = 24;
Result<void> emit_slices(XnnEmitter& out, const ir::Value* in, const ir::Value* result, int64_t axis,
                         const std::vector<Cut>& cuts);
// Concatenation of any number of values: XNNPACK's takes 2 to kMaxConcatenated, so more of them go through temporaries.
inline constexpr size_t kMaxConcatenated = 5;
Result<void> emit_concatenate(XnnEmitter& out, std::vector<const ir::Value*> in, const ir::Value* result, int64_t axis);
Result<void> emit_transpose(XnnEmitter& out, const ir::Value* in, const ir::Value* result, std::vector<int64_t> perm);

}  // namespace edgewright::ops
