// cub::DeviceScan as a reference variant, compiled by itself (see cub.hpp).
#pragma once

#include <cstdint>

#include "family/family.hpp"

namespace gpuexp::cub {

/// out[i] = in[0] + … + in[i].
struct InclusiveSum {
  DataType type;   ///< int32 or fp32
  std::int64_t n;  ///< below 2^31, because CUB is faster with 32-bit indices
  const void* in;
  void* out;
  void* workspace;
};

/// Maximum workspace: a state for each tile.
std::int64_t scan_workspace_bytes(std::int64_t n);

/// Enqueues the scan. Throws DeviceError if CUB fails.
Steps step_of(const InclusiveSum& sum);

}  // namespace gpuexp::cub
