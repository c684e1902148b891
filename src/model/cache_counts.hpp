// Cache and DRAM metrics of Nsight Compute for a kernel.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "family/counters.hpp"

namespace gpuexp {

/// Counts of one kernel's global and local memory accesses, over all SMs.
struct CacheCounts {
  double l1_sectors = 0;  ///< looked up in L1's tags
  double l1_hits = 0;
  double l2_sectors = 0;  ///< requested from L2 or written to L2
  double l2_hits = 0;     ///< hits of requested sectors, and all written sectors
  double dram_read_bytes = 0;
  double dram_written_bytes = 0;
  // Repeated wavefronts of shared memory (SectorRepeats, device/unified_memory.hpp).
  double shared_load_repeats = 0;
  double shared_store_repeats = 0;
  /// Wavefronts of global loads beyond the wavefronts that their addresses require if all lines
  /// miss; negative if L1 holds lines.
  double extra_wavefronts = 0;
};

/// Member for the metric (family/counters.hpp); null if caches do not determine the metric.
double CacheCounts::*cache_metric(std::string_view metric);

bool has_cache_part(std::string_view metric);

/// Sets the metrics that caches determine, and adds what caches contribute to other metrics. Does
/// nothing unless `kernels` has one entry per kernel of `counts`.
void add_cache_counts(LaunchCounts& counts, const std::vector<CacheCounts>& kernels);

}  // namespace gpuexp
