// An error of a device. C++17, included by .cu files.
#pragma once

#include <stdexcept>
#include <string>

namespace gpuexp {

enum class DeviceFault {
  refused,    ///< the call failed; later calls can succeed
  lost,       ///< the context, or the process that held it, is gone
  killed,     ///< another process ended the process that held the context
  peer_lost,  ///< another rank of the problem is gone or does not answer; the context is abandoned
  timed_out,  ///< did not return in time; the context is abandoned
  interrupted,  ///< did not return soon after an interrupt; the context is abandoned
};

/// A launch or a call failed, destroyed the context, or did not return.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& what, DeviceFault fault)
      : std::runtime_error(what), fault_(fault) {}
  DeviceFault fault() const { return fault_; }
  /// Whether nothing can run until the executor has recovered.
  bool device_lost() const { return fault_ != DeviceFault::refused; }

 private:
  DeviceFault fault_;
};

}  // namespace gpuexp
