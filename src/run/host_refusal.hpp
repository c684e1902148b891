#pragma once

#include <new>

#include "base/input_error.hpp"
#include "device/device_error.hpp"

namespace gpuexp {

/// Calls the function. Rethrows an unusable input file and insufficient host memory as
/// DeviceError, so that only the cells of this problem fail.
template <class Function>
auto with_host_refusals(const Function& function) -> decltype(function()) {
  try {
    return function();
  } catch (const InputError& error) {
    throw DeviceError(error.what(), DeviceFault::refused);
  } catch (const std::bad_alloc&) {
    throw DeviceError("not enough host memory", DeviceFault::refused);
  }
}

}  // namespace gpuexp
