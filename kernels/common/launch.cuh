// Launching a kernel by its declared Shape, so that what is predicted is what runs.
#pragma once

#include <stdexcept>
#include <utility>

#include <cuda_runtime.h>

#include "family/family.hpp"
#include "gpu/cuda_check.hpp"

namespace gpuexp {

/// Address of a kernel's host stub, as Shape::kernel wants it.
template <class... Parameters>
const void* kernel_address(void (*kernel)(Parameters...)) {
  return reinterpret_cast<const void*>(kernel);
}

/// Launches `kernel` with the grid, block, cluster and shared memory of `shape`, which must be its
/// own. Arguments convert to the kernel's parameter types as in a call. Throws CudaError when the
/// launch is refused.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), const Shape& shape, Stream stream,
            Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "one argument per kernel parameter");
  if (shape.kernel != kernel_address(kernel)) {
    throw std::logic_error("the variant's shape was computed for another kernel than it launches");
  }
  // Blocks get more than 48 KiB of dynamic shared memory only after this attribute is raised.
  constexpr std::int64_t kDefaultDynamicShared = 48 * 1024;
  if (shape.dynamic_shared_bytes > kDefaultDynamicShared) {
    GPUEXP_CUDA(cudaFuncSetAttribute(shape.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shape.dynamic_shared_bytes)));
  }
  const auto dim = [](const Extent& e) {
    return dim3(static_cast<unsigned>(e.x), static_cast<unsigned>(e.y), static_cast<unsigned>(e.z));
  };
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config{};
  config.gridDim = dim(shape.grid);
  config.blockDim = dim(shape.block);
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.dynamic_shared_bytes);
  config.stream = stream;
  if (shape.cluster.count() > 1) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = static_cast<unsigned>(shape.cluster.x);
    attribute.val.clusterDim.y = static_cast<unsigned>(shape.cluster.y);
    attribute.val.clusterDim.z = static_cast<unsigned>(shape.cluster.z);
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  GPUEXP_CUDA(cudaLaunchKernelEx(&config, kernel,
                                 static_cast<Parameters>(std::forward<Arguments>(arguments))...));
}

}  // namespace gpuexp
