// CUPTI, loaded at run time, because machines without a GPU lack it.
#pragma once

#include "gpu/counters_unavailable.hpp"

#if __has_include(<cupti_range_profiler.h>)
#define GPUEXP_HAS_CUPTI 1

#include <string>

#include <cuda.h>
#include <cupti_result.h>

// CUPTI's calls accept one structure whose first member is its size.
#define GPUEXP_CUPTI_PARAMS(type, name) \
  type name{};                          \
  name.structSize = type##_STRUCT_SIZE
#define GPUEXP_CUPTI_RESULT(function, ...) \
  ::gpuexp::cupti_function<decltype(&function)>(#function)(__VA_ARGS__)
#define GPUEXP_CUPTI(function, ...) \
  ::gpuexp::check_cupti(GPUEXP_CUPTI_RESULT(function, __VA_ARGS__), #function)

namespace gpuexp {

/// Address of a CUPTI function. Throws CountersUnavailable if CUPTI cannot be loaded or lacks the
/// function.
void* cupti_symbol(const char* name);

template <class Function>
Function cupti_function(const char* name) {
  return reinterpret_cast<Function>(cupti_symbol(name));
}

/// Throws CountersUnavailable if the driver restricts counters to administrators or another tool
/// uses CUPTI. Throws DeviceError with the call and CUPTI's error name on other errors.
void check_cupti(CUptiResult result, const char* call);

struct ProfiledDevice {
  CUcontext context = nullptr;
  int index = 0;     ///< CUDA device index
  std::string chip;  ///< CUPTI's name of the chip ("GH100")
};

/// Initializes CUPTI's profiler for the current device and creates the context if necessary. Throws
/// CountersUnavailable if CUPTI cannot be loaded, and DeviceError if there is no device.
ProfiledDevice current_device_to_profile();

}  // namespace gpuexp
#else
#define GPUEXP_HAS_CUPTI 0
#endif
