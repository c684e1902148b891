// Local memory of a warp: each lane's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/lanes.hpp"

namespace gpuexp::sim {

/// The bytes of a lane's local memory, at most. Its stack begins at the end and grows down.
inline constexpr std::uint32_t kLocalBytes = 512 * 1024;

class LocalMemory {
 public:
  /// Where `bytes` at an address of the lane's memory lie. Throws Fault outside of it, and where
  /// the address is no multiple of them.
  std::byte* at(unsigned lane, std::uint64_t address, std::size_t bytes);

  bool is_written(unsigned lane, std::uint64_t address, std::size_t bytes) const;
  void set_written(unsigned lane, std::uint64_t address, std::size_t bytes, bool is_written);

 private:
  /// Of each lane from the end on, as much as it has used, so that a small stack is small.
  using FromEnd = std::array<std::vector<std::byte>, kLanes>;

  FromEnd bytes_;
  FromEnd marks_;  ///< of bytes that were written
};

}  // namespace gpuexp::sim
