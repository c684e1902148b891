// Counts of caches and device memory during a kernel, as metrics of Nsight Compute.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "family/counters.hpp"

namespace gpuexp {

/// Counts of one kernel on all SMs, for global and local memory.
struct CacheCounts {
  double l1_sectors = 0;  ///< looked up in L1's tags
  double l1_hits = 0;
  double l2_sectors = 0;  ///< requested from L2, or written to it
  double l2_hits = 0;     ///< hits, and all sectors that are written
  double dram_read_bytes = 0;
  double dram_written_bytes = 0;
  // Wavefronts that shared memory repeats because L1 writes a sector in the same cycle.
  double shared_load_repeats = 0;
  double shared_store_repeats = 0;
  /// Wavefronts of global loads beyond those of their addresses; negative if L1 holds their lines.
  double extra_wavefronts = 0;
};

/// The member with the metric (family/counters.hpp); null if caches do not determine it.
double CacheCounts::*cache_metric(std::string_view metric);

/// Whether caches determine the metric or contribute to it, as by repeated wavefronts.
bool has_cache_part(std::string_view metric);

/// Sets the metrics that caches determine, and adds to those that caches contribute to. `kernels`
/// has the counts of each kernel; if their number differs, nothing changes.
void add_cache_counts(LaunchCounts& counts, const std::vector<CacheCounts>& kernels);

}  // namespace gpuexp
