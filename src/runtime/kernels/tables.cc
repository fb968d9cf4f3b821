#include "runtime/kernels/tables.h"

#include <map>
#include <mutex>

namespace edgewright::runtime {

std::span<const std::span<const Kernel>> kernel_tables() {
  static const std::span<const Kernel> kAll[] = {kConvKernels,  kCopyKernels,  kCreateKernels,   kElementwiseKernels,
                                                 kExtraKernels, kIndexKernels, kLinearKernels,   kNormKernels,
                                                 kPoolKernels,  kPrimKernels,  kQuantizeKernels, kReduceKernels};
  return kAll;
}

namespace {
// Registered by programs; nodes of a map stay where they are, and names are kept beside them.
struct Registered {
  std::mutex mutex;
  std::map<std::string, Kernel, std::less<>> kernels;
};
Registered& registered() {
  static Registered r;
  return r;
}
}  // namespace

Result<void> register_kernel(std::string name, KernelFn run, uint64_t (*scratch)(Call&)) {
  if (find_kernel(name)) return fail(Code::kUsage, "there is a kernel '{}' already", name);
  Registered& r = registered();
  const std::lock_guard lock(r.mutex);
  const auto [it, fresh] = r.kernels.try_emplace(std::move(name), Kernel{{}, run, scratch});
  if (!fresh) return fail(Code::kUsage, "there is a kernel '{}' already", it->first);
  it->second.name = it->first;
  return {};
}

const Kernel* find_kernel(std::string_view name) {
  for (std::span<const Kernel> table : kernel_tables()) {
    const auto it = std::lower_bound(table.begin(), table.end(), name,
                                     [](const Kernel& k, std::string_view n) { return k.name < n; });
    if (it != table.end() && it->name == name) return &*it;
  }
  Registered& r = registered();
  const std::lock_guard lock(r.mutex);
  const auto it = r.kernels.find(name);
  return it == r.kernels.end() ? nullptr : &it->second;
}

}  // namespace edgewright::runtime
