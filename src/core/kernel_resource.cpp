#include "core/kernel_resource.hpp"

#include <algorithm>
#include <functional>
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
  auto row = std::lower_bound(
      sorted_.begin(), sorted_.end(), kernel,
      [](const KernelResource& r, const void* k) { return std::less<>()(r.host_function, k); });
  for (; row != sorted_.end() && row->host_function == kernel; ++row) {
    if (!best || row->architecture <= compute_capability) best = *row;
  }
  if (!best) return std::nullopt;
  const bool exact = best->architecture <= compute_capability &&
                     best->architecture / 10 == compute_capability / 10;
  return Found{*best, exact};
}

}  // namespace gpuexp
