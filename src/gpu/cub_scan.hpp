// cub::DeviceScan, as cub.hpp has it of other algorithms: a unit of its own, since it takes long to
// compile.
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

/// What it may need: a state for each tile.
std::int64_t scan_workspace_bytes(std::int64_t n);

/// One step that enqueues it. It throws DeviceError when CUB refuses.
Steps step_of(const InclusiveSum& sum);

}  // namespace gpuexp::cub
