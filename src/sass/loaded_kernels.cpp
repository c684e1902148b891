#include "sass/loaded_kernels.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>
#include <set>
#include <utility>

#include "base/parallel.hpp"

namespace gpuexp {

LoadedKernels& LoadedKernels::global() {
  static LoadedKernels kernels;
  return kernels;
}

const void* LoadedKernels::add(LoadedKernel kernel) {
  auto added = std::make_unique<const LoadedKernel>(std::move(kernel));
  const void* const address = added.get();
  const std::unique_lock lock(mutex_);
  kernels_.emplace(address, std::move(added));
  return address;
}

const LoadedKernel* LoadedKernels::find(const void* kernel) const {
  const std::shared_lock lock(mutex_);
  const auto found = kernels_.find(kernel);
  return found == kernels_.end() ? nullptr : found->second.get();
}

namespace {

std::vector<const LoadedKernel*> distinct_loaded(const std::vector<const void*>& kernels) {
  std::set<const void*> known;
  std::vector<const LoadedKernel*> distinct;
  for (const void* const kernel : kernels) {
    if (!known.insert(kernel).second) continue;
    if (const LoadedKernel* const found = LoadedKernels::global().find(kernel))
      distinct.push_back(found);
  }
  return distinct;
}

/// First one kernel of each group that is compiled together, so that threads do not wait for the
/// same group while others are left.
void order_by_groups(std::vector<const LoadedKernel*>& kernels, int compute_capability) {
  std::map<const void*, std::size_t> counts;
  std::map<const LoadedKernel*, std::size_t> positions;
  for (const LoadedKernel* kernel : kernels)
    positions[kernel] =
        kernel->compiled_with ? counts[kernel->compiled_with(compute_capability)]++ : 0;
  std::ranges::stable_sort(kernels, {}, [&](const LoadedKernel* k) { return positions[k]; });
}

}  // namespace

void compile_loaded(const std::vector<const void*>& kernels, int compute_capability,
                    unsigned threads) {
  std::vector<const LoadedKernel*> distinct = distinct_loaded(kernels);
  for (const LoadedKernel* kernel : distinct)
    if (kernel->expect) kernel->expect(compute_capability);
  order_by_groups(distinct, compute_capability);
  for_parts(threads, std::ssize(distinct), 1, [&](std::int64_t i, std::int64_t) {
    try {
      distinct[static_cast<std::size_t>(i)]->code(compute_capability);
    } catch (const std::exception&) {
      // A later call throws it, too.
    }
  });
}

void* LoadedKernels::variable(const void* kernel, const std::string& lowered_name) {
  const std::lock_guard lock(variables_mutex_);
  return &variables_.try_emplace({kernel, lowered_name}, LoadedVariable{lowered_name, kernel})
              .first->second;
}

const LoadedVariable* LoadedKernels::find_variable(const void* variable) const {
  const std::lock_guard lock(variables_mutex_);
  const auto found = std::ranges::find_if(
      variables_, [&](const auto& known) { return &known.second == variable; });
  return found == variables_.end() ? nullptr : &found->second;
}

}  // namespace gpuexp
