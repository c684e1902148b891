#include "gpu/cupti.hpp"

#if GPUEXP_HAS_CUPTI
#include <dlfcn.h>
#include <fmt/format.h>

#include "device/device_error.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/driver_function.hpp"
#include "gpu/shared_library.hpp"

namespace gpuexp {

namespace {

void* library() {
  static void* const kLoaded = [] {
    std::string reason;
    // CUDA 13 numbers the library like itself, CUDA 12 by year.
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
    "the driver gives counters to administrators alone; run as root, with CAP_SYS_ADMIN, or load "
    "the kernel module with NVreg_RestrictProfilingToAdminUsers=0";

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

CUcontext current_context() {
  GPUEXP_CUDA(cudaFree(nullptr));  // makes it
  CUcontext context = nullptr;
  if (const auto get = driver_function_as<CUresult (*)(CUcontext*)>("cuCtxGetCurrent"))
    get(&context);
  if (!context) throw CountersUnavailable("the device has no current context");
  return context;
}

}  // namespace gpuexp
#endif
