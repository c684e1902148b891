// Errors of the host that one problem causes.
#pragma once

#include <new>

#include "base/input_error.hpp"
#include "device/device_error.hpp"

namespace gpuexp {

/// Calls the function. An input file that cannot be used, or too little memory for a problem, is
/// thrown as a DeviceError: it fails the cells of the problem, and the other cells run.
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
