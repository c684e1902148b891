// CUPTI, which is loaded at run time: machines without a GPU have none.
#pragma once

#include "gpu/counters_unavailable.hpp"

#if __has_include(<cupti_range_profiler.h>)
#define GPUEXP_HAS_CUPTI 1

#include <string>

#include <cuda.h>
#include <cupti_result.h>

// Every call of CUPTI takes one structure that begins with its size.
#define GPUEXP_CUPTI_PARAMS(type, name) \
  type name{};                          \
  name.structSize = type##_STRUCT_SIZE
#define GPUEXP_CUPTI_RESULT(function, ...) \
  ::gpuexp::cupti_function<decltype(&function)>(#function)(__VA_ARGS__)
#define GPUEXP_CUPTI(function, ...) \
  ::gpuexp::check_cupti(GPUEXP_CUPTI_RESULT(function, __VA_ARGS__), #function)

namespace gpuexp {

/// Loads CUPTI once. Throws CountersUnavailable where that cannot be done, and for what it lacks.
void* cupti_symbol(const char* name);

template <class Function>
Function cupti_function(const char* name) {
  return reinterpret_cast<Function>(cupti_symbol(name));
}

/// Throws CountersUnavailable where the driver gives counters to administrators alone, and
/// DeviceError with the call and CUPTI's name of the error for the rest.
void check_cupti(CUptiResult result, const char* call);

struct ProfiledDevice {
  CUcontext context = nullptr;
  int index = 0;     ///< as CUDA counts them
  std::string chip;  ///< "GH100": what CUPTI knows its metrics by
};

/// The current device, with CUPTI's profiler ready for it. Its context is made unless it is there.
/// Throws CountersUnavailable where there is none.
ProfiledDevice current_device_to_profile();

}  // namespace gpuexp
#else
#define GPUEXP_HAS_CUPTI 0
#endif
