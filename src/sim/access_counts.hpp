// What memory instructions ask for, counted as the hardware counts it.
#pragma once

#include <cstdint>

#include "sim/memory_access.hpp"

namespace gpuexp::sim {

struct MemoryCounts {
  std::uint64_t load_requests = 0;
  std::uint64_t load_sectors = 0;
  std::uint64_t store_requests = 0;
  std::uint64_t store_sectors = 0;

  MemoryCounts& operator+=(const MemoryCounts& more);
};

/// Adds an access to the counts of its block.
void count(MemoryCounts& counts, const MemoryAccess& access);

}  // namespace gpuexp::sim
