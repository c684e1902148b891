// cub::DeviceSelect, as cub.hpp has it of other algorithms: a unit of its own, since it takes long
// to compile.
#pragma once

#include <cstdint>

#include "family/family.hpp"

namespace gpuexp::cub {

/// The elements below `limit`, in their order, and how many there are.
struct SelectBelow {
  std::int64_t n;  ///< below 2^31: CUB counts in 32 bits, which is faster
  std::uint32_t limit;
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t* count;
  void* workspace;
};

/// What it may need: a state for each tile.
std::int64_t select_workspace_bytes(std::int64_t n);

/// One step that enqueues it. It throws DeviceError when CUB refuses.
Steps step_of(const SelectBelow& select);

}  // namespace gpuexp::cub
