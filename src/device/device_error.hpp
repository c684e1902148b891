// The error of a device, apart from what raises and handles it. C++17, included by .cu files.
#pragma once

#include <stdexcept>
#include <string>

namespace gpuexp {

enum class DeviceFault {
  refused,      ///< the call failed; later ones can succeed
  lost,         ///< the context, or the process that held it, is gone
  killed,       ///< somebody else ended the process that held the context
  peer_lost,    ///< another rank of the problem is gone or does not answer; the context is given up
  timed_out,    ///< did not return in time; the context is given up
  interrupted,  ///< did not return soon after an interrupt; the context is given up
};

/// A launch or a call that the device refused, that took the context with it, or that did not
/// return.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& what, DeviceFault fault)
      : std::runtime_error(what), fault_(fault) {}
  DeviceFault fault() const { return fault_; }
  /// Nothing can run until the executor has recovered.
  bool device_lost() const { return fault_ != DeviceFault::refused; }

 private:
  DeviceFault fault_;
};

}  // namespace gpuexp
