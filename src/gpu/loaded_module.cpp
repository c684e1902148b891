#include "gpu/loaded_module.hpp"

#include <map>
#include <mutex>
#include <string>

#include <cuda_runtime.h>

#include "gpu/cuda_check.hpp"
#include "gpu/device_query.hpp"
#include "sass/kernel_resource.hpp"
#include "sass/loaded_kernels.hpp"

namespace gpuexp {

namespace {

/// Libraries stay loaded until the process ends: launches may use their kernels at any time.
cudaLibrary_t library_of(const std::string& cubin) {
  static std::mutex mutex;
  static std::map<std::string, cudaLibrary_t> libraries;
  const std::lock_guard lock(mutex);
  cudaLibrary_t& library = libraries[cubin];
  if (!library)
    GPUEXP_CUDA(
        cudaLibraryLoadFromFile(&library, cubin.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  return library;
}

}  // namespace

const void* launchable(const void* kernel) {
  const LoadedKernel* const loaded = LoadedKernels::global().find(kernel);
  if (!loaded) return kernel;
  int device = 0;
  GPUEXP_CUDA(cudaGetDevice(&device));
  const LoadedCode code = loaded->code(compute_capability_of(device).value());
  cudaKernel_t function = nullptr;
  GPUEXP_CUDA(cudaLibraryGetKernel(&function, library_of(code.cubin), code.resource->lowered_name));
  return reinterpret_cast<const void*>(function);
}

}  // namespace gpuexp
