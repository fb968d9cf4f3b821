#include "runtime/kernels/tables.h"

namespace edgewright::runtime {

std::span<const std::span<const Kernel>> kernel_tables() {
  static const std::span<const Kernel> kAll[] = {kConvKernels,  kCopyKernels,  kCreateKernels,   kElementwiseKernels,
                                                 kExtraKernels, kIndexKernels, kLinearKernels,   kNormKernels,
                                                 kPoolKernels,  kPrimKernels,  kQuantizeKernels, kReduceKernels};
  return kAll;
}

const Kernel* find_kernel(std::string_view name) {
  for (std::span<const Kernel> table : kernel_tables()) {
    const auto it = std::lower_bound(table.begin(), table.end(), name,
                                     [](const Kernel& k, std::string_view n) { return k.name < n; });
    if (it != table.end() && it->name == name) return &*it;
  }
  return nullptr;
}

}  // namespace edgewright::runtime
