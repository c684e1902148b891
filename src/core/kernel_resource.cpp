#include "core/kernel_resource.hpp"

#include <algorithm>
#include <tuple>

namespace gpuexp {

KernelResources::KernelResources(const KernelResource* table, std::size_t count)
    : sorted_(table, table + count) {
  std::sort(sorted_.begin(), sorted_.end(), [](const KernelResource& a, const KernelResource& b) {
    return std::tie(a.host_function, a.architecture) < std::tie(b.host_function, b.architecture);
  });
}

std::optional<KernelResources::Found> KernelResources::find(const void* kernel,
                                                            int compute_capability) const {
  std::optional<KernelResource> best;
  for (const KernelResource& r : sorted_) {
    if (r.host_function != kernel) continue;
    if (!best || r.architecture <= compute_capability) best = r;
  }
  if (!best) return std::nullopt;
  const bool exact = best->architecture <= compute_capability &&
                     best->architecture / 10 == compute_capability / 10;
  return Found{*best, exact};
}

}  // namespace gpuexp
