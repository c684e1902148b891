#include "gpu/driver_function.hpp"

#include <cuda_runtime_api.h>

namespace gpuexp {

void* driver_function(const char* name) {
  constexpr unsigned kVersion = 12000;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion(name, &function, kVersion, cudaEnableDefault, &found);
  if (status == cudaSuccess && found == cudaDriverEntryPointSuccess) return function;
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

}  // namespace gpuexp
