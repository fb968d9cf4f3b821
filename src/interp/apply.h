// src/interp/apply.h - one op on concrete operands, densely. Depends on ops.
#pragma once

#include <functional>

#include "interp/datum.h"
#include "ops/families.h"

namespace edgewright::interp {

// What a value holds; never null for the values among the arguments.
using Operands = std::function<const Datum*(const ir::Value*)>;

// The results of `d` (not an in-place op; use its `functional`). Tensors are fresh and contiguous, but results of a view op
// share the operand's storage where strides can express them. An op that has only a decomposition means that. A result whose size depends on data is left unallocated
// (dtype only) for `whole` to make.
// Errors: the rule's own; kUnsupported for an op without a meaning here, a dtype that is no number, more than ops::kMaxRank
// dims, or results beyond max_tensor_bytes().
Result<std::vector<Datum>> apply(const ops::OpDef& d, const std::vector<ir::Arg>& args, const Operands& of);

// Half of the machine's memory: larger single tensors are refused.
int64_t max_tensor_bytes();
// Zeroed storage is not promised. Errors: kUnsupported where sizes overflow or exceed max_tensor_bytes().
Result<ir::Tensor> allocate(DType dtype, const std::vector<int64_t>& sizes);

// Computes every element by the point's rule. `out` is contiguous. Errors: kUsage where it reads outside an operand.
Result<void> fill_by_point(const ops::Point& p, std::span<const ir::Tensor> in, ir::Tensor& out);

// Elements of `from` written over those of `to` (any strides, same sizes), converted as a cast does.
void copy_elements(const ir::Tensor& from, const ir::Tensor& to);
// The same elements in storage of its own, strides kept (also overlapping ones).
ir::Tensor private_copy(const ir::Tensor& t);

}  // namespace edgewright::interp
