#pragma once

#include <vector>

#include "timing/memory_path.hpp"
#include "timing/sm_busy.hpp"
#include "timing/warp_state.hpp"

namespace gpuexp {

struct SmSums {
  std::vector<WarpClocks> places;
  std::vector<SectorLookups> lookups;  ///< L1 lookups of executed blocks, by instruction
  double l2_reads = 0;                 ///< sectors that executed blocks requested from L2
  double l2_writes = 0;                ///< sectors that executed blocks wrote to L2
  SharedRepeats repeats;
  /// Number of intervals between barriers in which an executed block requested data from L2.
  double steps = 0;
  /// Busy cycles of executed blocks; `latency` is for the blocks of one slot.
  SmBusy busy;

  /// Adds the difference between `after` and `before`, multiplied by `times`.
  void add(const SmSums& before, const SmSums& after, double times);
};

}  // namespace gpuexp
