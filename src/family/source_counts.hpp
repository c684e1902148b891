// What a GPU counts at each instruction of a kernel: the quantities of Nsight Compute's source
// page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuexp {

/// Sums over the warps of a launch. Sectors are 32 bytes of global memory that the addresses of
/// loads, stores and cp.async touch; the ideal is the least that hold the bytes asked for.
/// Wavefronts are those of the data stage for shared memory, and what they would be without bank
/// conflicts.
struct SourceCounts {
  double warps = 0;     ///< instructions of warps
  double lanes = 0;     ///< their active lanes
  double lanes_on = 0;  ///< of these, those whose predicate let the instruction through
  double sectors = 0;
  double ideal_sectors = 0;
  double shared_wavefronts = 0;
  double ideal_shared_wavefronts = 0;

  SourceCounts& operator+=(const SourceCounts& more);
  friend bool operator==(const SourceCounts&, const SourceCounts&) = default;
};

struct CountedInstruction {
  std::string kernel;         ///< its mangled name
  std::uint32_t address = 0;  ///< bytes from the kernel's first instruction
  SourceCounts counts;
};

/// The members with the SASS metrics of CUPTI that they are.
struct SourceMetric {
  const char* name;
  double SourceCounts::*member;
};
const std::vector<SourceMetric>& source_metrics();

}  // namespace gpuexp
