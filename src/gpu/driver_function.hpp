// Functions of the driver that is loaded: nothing links against libcuda, which machines without a
// GPU lack.
#pragma once

namespace gpuexp {

/// The driver's function of that name, as CUDA 12.0 declares it; null where there is none.
void* driver_function(const char* name);

template <class Function>
Function driver_function_as(const char* name) {
  return reinterpret_cast<Function>(driver_function(name));
}

}  // namespace gpuexp
