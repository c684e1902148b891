// Counts of each instruction of a kernel, as on Nsight Compute's source page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuexp {

/// Sums over the warps of a launch. Sectors are the 32-byte sectors of global memory that loads,
/// stores and cp.async access; ideal sectors are the minimum for the requested bytes. Wavefronts
/// are data-stage wavefronts of shared memory accesses; ideal wavefronts are wavefronts without
/// bank conflicts.
struct SourceCounts {
  double warps = 0;  ///< number of warp instructions executed
  double lanes = 0;
  double predicated_lanes = 0;  ///< active lanes whose predicate is true
  double sectors = 0;
  double ideal_sectors = 0;
  double shared_wavefronts = 0;
  double ideal_shared_wavefronts = 0;

  SourceCounts& operator+=(const SourceCounts& more);
  friend bool operator==(const SourceCounts&, const SourceCounts&) = default;
};

struct CountedInstruction {
  std::string kernel;
  std::uint32_t address = 0;  ///< byte offset from the kernel's first instruction
  SourceCounts counts;
};

struct SourceMetric {
  const char* name;
  double SourceCounts::*member;
};
const std::vector<SourceMetric>& source_metrics();

}  // namespace gpuexp
