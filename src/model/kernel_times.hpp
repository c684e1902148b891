// Times of kernels, kept for all launches of one problem, because variants and modes share kernels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "family/family.hpp"
#include "model/cache_counts.hpp"
#include "model/launch_traffic.hpp"
#include "timing/memory_path.hpp"
#include "timing/warp_state.hpp"

namespace gpuexp {

struct KernelCodeTime {
  const sim::Program* program = nullptr;
  double time_us = 0;  ///< time of one launch, without launch overhead
  /// `time_us` by the warps' next instruction and stall reason; the entries sum to `time_us`.
  std::vector<WarpClocks> places_us;
  std::vector<SectorLookups> lookups;  ///< L1 lookups of executed blocks, by instruction
  CacheCounts caches;                  ///< counts of all blocks, without DRAM
  /// Time if the resource were the only limit, by resource.
  std::map<std::string, double> isolated_us;
};

/// Kernel times for the buffers of one problem on one device, in any mode.
class KernelTimes {
 public:
  /// Returns the time of a kernel with the same code, shape, arguments and DRAM traffic; null if
  /// none was timed. The traffic must be equal, not only similar, so that no time depends on which
  /// launches were timed before.
  const KernelCodeTime* find(const ResidentKernel& kernel, const KernelTraffic& traffic) const;
  void keep(const ResidentKernel& kernel, const KernelTraffic& traffic, const KernelCodeTime& time);

 private:
  struct Timed {
    std::vector<std::int64_t> identity;
    int blocks_per_sm = 0;
    KernelTraffic traffic;
    KernelCodeTime time;
  };

  std::vector<Timed> timed_;
};

}  // namespace gpuexp
