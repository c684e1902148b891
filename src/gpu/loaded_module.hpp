// Kernels of loaded modules (sass/loaded_kernels.hpp) on the current device.
#pragma once

namespace gpuexp {

/// The function that cudaLaunchKernel takes for a Shape::kernel: the host stub itself, or a
/// cudaKernel_t of a loaded kernel, whose module is loaded on the first call. Throws CudaError, and
/// what LoadedKernel::code throws.
const void* launchable(const void* kernel);

}  // namespace gpuexp
