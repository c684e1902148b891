#include "sass/loaded_kernels.hpp"

#include <algorithm>
#include <utility>

namespace gpuexp {

LoadedKernels& LoadedKernels::global() {
  static LoadedKernels kernels;
  return kernels;
}

const void* LoadedKernels::add(LoadedKernel kernel) {
  return &kernels_.emplace_back(std::move(kernel));
}

const LoadedKernel* LoadedKernels::find(const void* kernel) const {
  const auto found =
      std::ranges::find_if(kernels_, [&](const LoadedKernel& loaded) { return &loaded == kernel; });
  return found == kernels_.end() ? nullptr : &*found;
}

}  // namespace gpuexp
