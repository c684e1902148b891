#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/lanes.hpp"

namespace gpuexp::sim {

/// Maximum number of bytes of local memory per lane. The stack starts at the end and grows down.
inline constexpr std::uint32_t kLocalBytes = 512 * 1024;

class LocalMemory {
 public:
  /// Returns a pointer to `bytes` bytes at an address in the lane's memory. Throws Fault if the
  /// bytes are out of bounds or the address is not a multiple of `bytes`.
  std::byte* at(unsigned lane, std::uint64_t address, std::size_t bytes);

  bool is_written(unsigned lane, std::uint64_t address, std::size_t bytes) const;
  void set_written(unsigned lane, std::uint64_t address, std::size_t bytes, bool is_written);

 private:
  /// The used memory of each lane, stored from the end, so that a small stack needs little space.
  using FromEnd = std::array<std::vector<std::byte>, kLanes>;

  FromEnd bytes_;
  FromEnd marks_;
};

}  // namespace gpuexp::sim
