// src/runtime/kernels/tables.h - the tables of kernels, one a file, each sorted by name. Private to src/runtime/kernels.
#pragma once

#include <algorithm>

#include "runtime/kernel.h"

namespace edgewright::runtime {

extern const std::span<const Kernel> kConvKernels, kCopyKernels, kCreateKernels, kElementwiseKernels, kExtraKernels,
    kIndexKernels, kLinearKernels, kNormKernels, kPoolKernels, kPrimKernels, kQuantizeKernels, kReduceKernels;

// For a static_assert behind each table.
constexpr bool sorted_by_name(std::span<const Kernel> t) {
  return std::is_sorted(t.begin(), t.end(), [](const Kernel& a, const Kernel& b) { return a.name < b.name; });
}

}  // namespace edgewright::runtime
