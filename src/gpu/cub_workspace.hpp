// Calls of CUB's algorithms, which return the required workspace size if called without a
// workspace.
#pragma once

#include <cstdint>
#include <string>

#include "device/device_error.hpp"

namespace gpuexp::cub {

/// Runs `call`(workspace, bytes), which stores the required size in `bytes` if the workspace is
/// null. Throws DeviceError if CUB requires more than `bytes`.
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
