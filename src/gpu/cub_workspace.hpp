// CUB's algorithms are called twice: the first call, without a workspace, returns the required
// bytes.
#pragma once

#include <cstdint>
#include <string>

#include "device/device_error.hpp"

namespace gpuexp::cub {

/// `call` accepts a workspace and its bytes; without a workspace it sets `bytes` to the required
/// size. Throws DeviceError if that exceeds `bytes`.
template <class Call>
void with_workspace(const char* algorithm, void* workspace, std::int64_t bytes, const Call& call) {
  std::size_t needed = 0;
  call(nullptr, needed);
  auto given = static_cast<std::size_t>(bytes);
  if (needed > given)
    throw DeviceError(std::string(algorithm) + " needs " + std::to_string(needed) +
                          " bytes of workspace, more than was allocated for it",
                      DeviceFault::refused);
  call(workspace, given);
}

}  // namespace gpuexp::cub
