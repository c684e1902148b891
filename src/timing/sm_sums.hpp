// What an SM has done, of all that grows instruction by instruction.
#pragma once

#include <vector>

#include "timing/memory_path.hpp"
#include "timing/sm_busy.hpp"
#include "timing/warp_state.hpp"

namespace gpuexp {

struct SmSums {
  std::vector<WarpClocks> places;  ///< by place of the instruction that a warp was to issue next
  std::vector<SectorLookups> lookups;  ///< by place, in L1, of the blocks that were executed
  double l2_reads = 0;                 ///< sectors that these asked L2 for
  double l2_writes = 0;                ///< and wrote there
  SharedRepeats repeats;               ///< of wavefronts of these
  /// Of these blocks: what lies between two barriers, and has asked L2 for something.
  double steps = 0;
  /// Of these blocks, too. The latency is that of the blocks of one place on the SM.
  SmBusy busy;

  /// What has been done from `before` to `after`, so many times.
  void add(const SmSums& before, const SmSums& after, double times);
};

}  // namespace gpuexp
