// Time of one SM's atomic operations on global memory in L2, while all active SMs use L2 alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "sim/memory_access.hpp"
#include "timing/server.hpp"

namespace gpuexp {

/// Numbers of an access that L2's slices process: operations at one address one after another.
struct AtomicOperations {
  /// Slice of each accessed 512-byte part of memory, and the cycles of the slice's unit.
  struct InSlice {
    std::size_t slice = 0;
    double operations = 0;
  };
  std::array<InSlice, sim::kLanes> slices;
  std::size_t count = 0;
  double sectors = 0;
};

/// Each slice of L2 has one unit, which processes one operation at an address at a time. In a
/// sector, the lanes of an instruction are as many operations as lanes access the same address: a
/// unit processes operations at different addresses of one sector together (l2_atomic_cycles).
AtomicOperations atomic_operations(const sim::MemoryAccess& access);

/// Rates in cycles of the SM, for its share of L2. 0: not limited.
struct AtomicRates {
  double operation_clocks = 0;  ///< per operation in one slice
  double sector_clocks = 0;     ///< per sector, all slices together
};

class AtomicUnits {
 public:
  explicit AtomicUnits(const AtomicRates& rates) : rates_(rates) {}

  struct Times {
    double taken = 0;  ///< the request has left the SM
    double done = 0;   ///< L2 has executed all operations of the request
  };
  /// Times of an instruction's request that could leave the SM at `when`.
  Times serve(double when, const sim::MemoryAccess& access);
  /// Cycles of the busiest slice, or of the path to all slices if that is longer.
  double busy() const;
  /// When the last operation ends.
  double last() const;

 private:
  /// An H200 has 94 slices (ncu: lts__cycles_elapsed.sum / .max; docs/studies/atomics).
  static constexpr std::size_t kSlices = 94;
  friend AtomicOperations atomic_operations(const sim::MemoryAccess& access);

  const AtomicRates& rates_;
  std::array<Server, kSlices> slices_;
  Server path_;
  std::priority_queue<double, std::vector<double>, std::greater<>> outstanding_;
};

}  // namespace gpuexp
