// cub::DeviceReduce, as cub.hpp has it of other algorithms: a unit of its own, since it takes long
// to compile.
#pragma once

#include <cstdint>

#include "family/family.hpp"

namespace gpuexp::cub {

enum class Reduction {
  sum,     ///< in fp32, to a float
  max,     ///< of the elements' type
  argmax,  ///< likewise, and the lowest index at which it stands
};

struct Reduce {
  Reduction reduction;
  DataType type;   ///< fp32 or bf16
  std::int64_t n;  ///< below 2^31: CUB counts in 32 bits, which is faster
  const void* in;
  void* out;
  std::uint64_t* index;  ///< of argmax
  void* workspace;
};

/// What it may need: a partial result for each block, a few of which each SM has.
std::int64_t reduce_workspace_bytes(const DeviceSpec& device);

/// One step that enqueues it. It throws DeviceError when CUB refuses.
Steps step_of(const Reduce& reduce, const DeviceSpec& device);

}  // namespace gpuexp::cub
