// cub::DeviceSelect as a reference variant, compiled by itself (see cub.hpp).
#pragma once

#include <cstdint>

#include "family/family.hpp"

namespace gpuexp::cub {

/// out = the elements of `in` below `limit`, in input order; count = their number.
struct SelectBelow {
  std::int64_t n;  ///< below 2^31, because CUB is faster with 32-bit indices
  std::uint32_t limit;
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t* count;
  void* workspace;
};

/// Maximum workspace: a state for each tile.
std::int64_t select_workspace_bytes(std::int64_t n);

/// Enqueues the selection. Throws DeviceError if CUB fails.
Steps step_of(const SelectBelow& select);

}  // namespace gpuexp::cub
