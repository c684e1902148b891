// Kernels of loaded modules (sass/loaded_kernels.hpp) on the current device.
#pragma once

#include <cstdint>

namespace gpuexp {

/// The function that cudaLaunchKernel takes for a Shape::kernel: the host stub itself, or a
/// cudaKernel_t of a loaded kernel, whose module is loaded on the first call. Throws CudaError, and
/// what LoadedKernel::code throws.
const void* launchable(const void* kernel);

/// The memory on the device of a LoadedVariable, or any other address itself, for copies of `bytes`
/// bytes. Throws CudaError, what LoadedKernel::code throws, and std::runtime_error if the variable
/// has another size.
void* device_memory(const void* address, std::int64_t bytes);

}  // namespace gpuexp
