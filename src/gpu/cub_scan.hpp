// cub::DeviceScan as a reference variant, in a translation unit of its own because it compiles
// slowly.
#pragma once

#include <cstdint>

#include "family/family.hpp"

namespace gpuexp::cub {

/// out[i] = in[0] + … + in[i].
struct InclusiveSum {
  DataType type;   ///< int32 or fp32
  std::int64_t n;  ///< below 2^31: CUB counts in 32 bits, which is faster
  const void* in;
  void* out;
  void* workspace;
};

/// Maximum workspace in bytes: a state for each tile.
std::int64_t scan_workspace_bytes(std::int64_t n);

/// A step that enqueues the scan. It throws DeviceError if CUB fails.
Steps step_of(const InclusiveSum& sum);

}  // namespace gpuexp::cub
