// What the copy engine and asynchronous stores move: ranges of global memory and of a cluster's
// shared memory, which come with their bytes to an mbarrier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "sim/registers.hpp"

namespace gpuexp::sim {

/// Of bulk copies: addresses and sizes are multiples of it.
inline constexpr std::size_t kBulkUnit = 16;

inline std::uint64_t uniform_pair(const Warp& warp, unsigned index) {
  return warp.uniform[index] | static_cast<std::uint64_t>(warp.uniform[index + 1]) << 32;
}

/// Where so many bytes lie in global memory, or at an address of the cluster's shared memory. Notes
/// that they are read or written. Throws Fault.
std::byte* global_range(Warp& warp, Access kind, std::uint64_t address, std::size_t bytes);
std::byte* shared_range(Warp& warp, Access kind, std::uint32_t address, std::size_t bytes,
                        std::size_t alignment = kBulkUnit);

/// Throws Fault where nothing has written bytes of the cluster's shared memory that are to be
/// changed.
void check_readable(Warp& warp, std::uint32_t address, std::size_t bytes);

/// Bytes on their way to the cluster's shared memory.
struct Delivery {
  std::uint32_t to = 0;
  std::uint32_t barrier = 0;  ///< in the shared memory of the same block
  /// A bit for each block, which gets them at the same place in its own shared memory, and so does
  /// its barrier; none: the one block that the address is of.
  std::optional<std::uint32_t> blocks = {};
  std::size_t bytes = 0;
  std::size_t alignment = kBulkUnit;
};

/// Calls write() with each place that they come to, and tells the barriers.
void deliver(Warp& warp, const Delivery& delivery, const std::function<void(std::byte*)>& write);

}  // namespace gpuexp::sim
