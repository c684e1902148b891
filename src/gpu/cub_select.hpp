// cub::DeviceSelect as a reference variant, in a translation unit of its own because it compiles
// slowly.
#pragma once

#include <cstdint>

#include "family/family.hpp"

namespace gpuexp::cub {

/// The elements below `limit`, in input order, and their number.
struct SelectBelow {
  std::int64_t n;  ///< below 2^31: CUB counts in 32 bits, which is faster
  std::uint32_t limit;
  const std::uint32_t* in;
  std::uint32_t* out;
  std::uint32_t* count;
  void* workspace;
};

/// Maximum workspace in bytes: a state for each tile.
std::int64_t select_workspace_bytes(std::int64_t n);

/// A step that enqueues the selection. It throws DeviceError if CUB fails.
Steps step_of(const SelectBelow& select);

}  // namespace gpuexp::cub
