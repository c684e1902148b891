#include "gpu/loaded_module.hpp"

#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include <cuda_runtime.h>
#include <fmt/format.h>

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

/// The code for the current device.
LoadedCode code_for_device(const LoadedKernel& kernel) {
  int device = 0;
  GPUEXP_CUDA(cudaGetDevice(&device));
  return kernel.code(compute_capability_of(device).value());
}

}  // namespace

const void* launchable(const void* kernel) {
  const LoadedKernel* const loaded = LoadedKernels::global().find(kernel);
  if (!loaded) return kernel;
  const LoadedCode code = code_for_device(*loaded);
  cudaKernel_t function = nullptr;
  GPUEXP_CUDA(cudaLibraryGetKernel(&function, library_of(code.cubin), code.resource->lowered_name));
  return reinterpret_cast<const void*>(function);
}

void* device_memory(const void* address, std::int64_t bytes) {
  const LoadedVariable* const variable = LoadedKernels::global().find_variable(address);
  if (!variable) return const_cast<void*>(address);
  const LoadedKernel* const kernel = LoadedKernels::global().find(variable->kernel);
  if (!kernel) throw std::logic_error("the kernel of a variable is not loaded");
  const cudaLibrary_t library = library_of(code_for_device(*kernel).cubin);
  void* memory = nullptr;
  std::size_t size = 0;
  GPUEXP_CUDA(cudaLibraryGetGlobal(&memory, &size, library, variable->lowered_name.c_str()));
  if (size != static_cast<std::size_t>(bytes))
    throw std::runtime_error(
        fmt::format("the variable {} has {} bytes on this GPU, but its buffer "
                    "has {}",
                    variable->lowered_name, size, bytes));
  return memory;
}

}  // namespace gpuexp
