// Transfers by the copy engine and by asynchronous stores between global memory and a cluster's
// shared memory. An mbarrier counts the bytes that arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "sim/registers.hpp"

namespace gpuexp::sim {

/// Addresses and sizes of bulk copies are multiples of this number of bytes.
inline constexpr std::size_t kBulkUnit = 16;

inline std::uint64_t uniform_pair(const Warp& warp, unsigned index) {
  return warp.uniform[index] | static_cast<std::uint64_t>(warp.uniform[index + 1]) << 32;
}

/// Return the host address of `bytes` bytes in global memory or in the cluster's shared memory, and
/// record the access. Throw Fault if the range is misaligned or out of bounds.
std::byte* global_range(Warp& warp, Access kind, std::uint64_t address, std::size_t bytes);
std::byte* shared_range(Warp& warp, Access kind, std::uint32_t address, std::size_t bytes,
                        std::size_t alignment = kBulkUnit);

/// Throws Fault if bytes of the cluster's shared memory that will be modified are unwritten.
void check_readable(Warp& warp, std::uint32_t address, std::size_t bytes);

struct Delivery {
  std::uint32_t to = 0;
  std::uint32_t barrier = 0;  ///< address of the mbarrier, in shared memory of the same block
  /// One bit per destination block. Each block receives the bytes and the arrival at the same
  /// offsets in its own shared memory. Empty: only the block of the addresses.
  std::optional<std::uint32_t> blocks = {};
  std::size_t bytes = 0;
  std::size_t alignment = kBulkUnit;
};

/// Calls write() for each destination and signals the mbarriers.
void deliver(Warp& warp, const Delivery& delivery, const std::function<void(std::byte*)>& write);

}  // namespace gpuexp::sim
