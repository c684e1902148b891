// cub::DeviceReduce as a reference variant, compiled by itself (see cub.hpp).
#pragma once

#include <cstdint>

#include "family/family.hpp"

namespace gpuexp::cub {

enum class Reduction {
  sum,     ///< accumulated in fp32, result fp32
  max,     ///< maximum, of the elements' type
  argmax,  ///< maximum and the lowest index where it occurs
};

struct Reduce {
  Reduction reduction;
  DataType type;   ///< fp32 or bf16
  std::int64_t n;  ///< below 2^31, because CUB is faster with 32-bit indices
  const void* in;
  void* out;
  std::uint64_t* index;  ///< result index of argmax
  void* workspace;
};

/// Maximum workspace: one partial result per block, for five blocks per block slot.
std::int64_t reduce_workspace_bytes(const DeviceSpec& device);

/// Enqueues the reduction. Throws DeviceError if CUB fails.
Steps step_of(const Reduce& reduce, const DeviceSpec& device);

}  // namespace gpuexp::cub
