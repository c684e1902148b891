// What caches and device memory do during a kernel, in the metrics of Nsight Compute.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "family/counters.hpp"

namespace gpuexp {

/// Of one kernel, on all SMs. Loads, stores and atomics of global and local memory.
struct CacheCounts {
  double l1_sectors = 0;  ///< that L1's tags were asked for
  double l1_hits = 0;
  double l2_sectors = 0;  ///< that L2 was asked for, or got
  double l2_hits = 0;     ///< of these, those that it had, and all that it got
  double dram_read_bytes = 0;
  double dram_written_bytes = 0;
  // Wavefronts that shared memory repeats where a sector of L1 is written in the same clock.
  double shared_load_repeats = 0;
  double shared_store_repeats = 0;
  /// Wavefronts of loads from global memory beyond those that addresses alone decide; negative if
  /// L1 holds their lines.
  double extra_wavefronts = 0;
};

/// The member that has the metric (family/counters.hpp); null for all that caches do not decide.
double CacheCounts::*cache_metric(std::string_view metric);

/// Whether caches decide the metric, or have a part in it: wavefronts that are repeated are counted
/// as others are.
bool has_cache_part(std::string_view metric);

/// Sets the values of the metrics that caches decide from what each kernel of the launch came to,
/// and adds what caches have a part in. Where the kernels are not known, or are not as many, all
/// stay as they are.
void add_cache_counts(LaunchCounts& counts, const std::vector<CacheCounts>& kernels);

}  // namespace gpuexp
