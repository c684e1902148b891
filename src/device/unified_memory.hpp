// The memory of an SM that L1 and shared memory divide, and the division that the driver chooses.
#pragma once

#include <cstdint>
#include <optional>

#include "device/device_spec.hpp"

namespace gpuexp {

/// Shared memory and threads of a kernel's blocks.
struct SharedDemand {
  std::int64_t block_threads = 0;
  std::int64_t block_bytes = 0;     ///< shared memory, without bytes reserved by the runtime
  int resident = 0;                 ///< number of resident blocks per SM
  int resident_without_shared = 0;  ///< blocks per SM if they used no shared memory
};

/// Bytes per SM.
struct UnifiedMemory {
  std::int64_t shared = 0;    ///< used by resident blocks, including reserved bytes
  std::int64_t carveout = 0;  ///< available as shared memory
  std::int64_t l1 = 0;        ///< available as L1
};

/// The division while the kernel runs, if no other carve-out was requested. The possible sizes
/// are from the CUDA C++ Programming Guide (Shared Memory, for each compute capability). The
/// driver's choice among them was measured on an H200, with the same result on an H100. For other
/// compute capabilities, the smallest size that holds the resident blocks is assumed
/// (docs/studies/caches). Empty if the size of the memory is unknown.
std::optional<UnifiedMemory> unified_memory(const DeviceSpec& device, const SharedDemand& demand);

/// Average number of repetitions of a shared memory wavefront that uses all banks, for each kind
/// of sector in the same cycle (docs/studies/shared_memory). Measured on an H200, with the same
/// result on an H100; 0 for other compute capabilities.
struct SectorRepeats {
  // Repetitions of stores due to:
  double line = 0;  ///< a sector of a line that L1 fills
  double copy = 0;  ///< a sector that a copy writes to shared memory
  // Repetitions of loads due to:
  double stored = 0;  ///< a sector stored to global memory whose line is not in L1
  double read = 0;    ///< a sector that the copy engine reads from shared memory
};

SectorRepeats sector_repeats(const DeviceSpec& device, const UnifiedMemory& memory);

}  // namespace gpuexp
