// The error of a device, apart from what raises and handles it. C++17, included by .cu files.
#pragma once

#include <stdexcept>
#include <string>

namespace gpuexp {

/// A launch or a call that the device refused.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& what, bool device_lost)
      : std::runtime_error(what), device_lost_(device_lost) {}
  /// The context is gone and nothing later in this process can run.
  bool device_lost() const { return device_lost_; }

 private:
  bool device_lost_;
};

}  // namespace gpuexp
