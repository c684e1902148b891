#include "gpu/cupti.hpp"

#if GPUEXP_HAS_CUPTI
#include <cuda_runtime_api.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include "device/device_error.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/shared_library.hpp"

namespace gpuexp {

namespace {

void* library() {
  static void* const kLoaded = [] {
    std::string reason;
    // CUDA 13 numbers the library like the toolkit; CUDA 12 numbers it by year.
    void* handle = open_library({"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, reason);
    if (!handle) {
      throw CountersUnavailable(fmt::format(
          "CUPTI cannot be loaded ({}); it comes with the CUDA Toolkit, under extras/CUPTI",
          reason));
    }
    return handle;
  }();
  return kLoaded;
}

constexpr const char* kPermission =
    "the driver gives only administrators access to counters; run as root, with CAP_SYS_ADMIN, or "
    "load the kernel module with NVreg_RestrictProfilingToAdminUsers=0";

CUcontext current_context() {
  GPUEXP_CUDA(cudaFree(nullptr));  // creates the context
  CUcontext context = nullptr;
  if (const auto get = driver_function_as<CUresult (*)(CUcontext*)>("cuCtxGetCurrent"))
    get(&context);
  if (!context) throw CountersUnavailable("the device has no current context");
  return context;
}

}  // namespace

void* cupti_symbol(const char* name) {
  void* symbol = dlsym(library(), name);
  if (!symbol)
    throw CountersUnavailable(fmt::format("the CUPTI found here lacks {}: too old", name));
  return symbol;
}

void check_cupti(CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) return;
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) throw CountersUnavailable(kPermission);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    throw CountersUnavailable(
        "another tool uses CUPTI in this process; run without nsys, ncu or compute-sanitizer");
  const char* name = "";
  GPUEXP_CUPTI_RESULT(cuptiGetResultString, result, &name);
  throw DeviceError(fmt::format("{}: {}", call, name), DeviceFault::refused);
}

ProfiledDevice current_device_to_profile() {
  ProfiledDevice device;
  device.context = current_context();
  GPUEXP_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, initialize);
  GPUEXP_CUPTI(cuptiProfilerInitialize, &initialize);
  GPUEXP_CUDA(cudaGetDevice(&device.index));
  GPUEXP_CUPTI_PARAMS(CUpti_Device_GetChipName_Params, chip);
  chip.deviceIndex = static_cast<std::size_t>(device.index);
  GPUEXP_CUPTI(cuptiDeviceGetChipName, &chip);
  device.chip = chip.pChipName;
  return device;
}

}  // namespace gpuexp
#endif
