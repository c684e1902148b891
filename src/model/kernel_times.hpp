// Times of kernels, and those that launches of one problem have in common: its variants share
// kernels, and a launch in another mode has the same.
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
  double time_us = 0;  ///< of one launch of the kernel, without what any launch takes
  /// By place in the program: what part of `time_us` its warps, together, were to issue the
  /// instruction there, and what held it up. They add up to `time_us`.
  std::vector<WarpClocks> places_us;
  std::vector<SectorLookups> lookups;      ///< by place, in L1, of the blocks that were executed
  CacheCounts caches;                      ///< of all blocks, without what DRAM does
  std::map<std::string, double> alone_us;  ///< by resource, if it alone were used
};

/// Of one problem's buffers on one device, in any mode.
class KernelTimes {
 public:
  /// Those that follow are of this variant's launches.
  void begin(const Variant& variant) { variant_ = &variant; }

  /// Of a kernel with the same code, shape and arguments, for which device memory moves the same:
  /// in launches of the variant itself but for what the clock does not show, so that which variants
  /// come before changes no time. Null: none has been timed.
  const KernelCodeTime* find(const ResidentKernel& kernel, const KernelTraffic& traffic);
  void keep(const ResidentKernel& kernel, const KernelTraffic& traffic, const KernelCodeTime& time);

 private:
  struct Timed {
    const Variant* variant = nullptr;
    std::vector<std::int64_t> identity;
    int blocks_per_sm = 0;
    KernelTraffic traffic;
    KernelCodeTime time;
  };

  const Variant* variant_ = nullptr;
  std::vector<Timed> timed_;
};

}  // namespace gpuexp
