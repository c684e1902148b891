// The memory of an SM that L1 and shared memory divide, and how the driver divides it.
#pragma once

#include <cstdint>
#include <optional>

#include "device/device_spec.hpp"

namespace gpuexp {

/// What the blocks of a kernel need of this memory.
struct SharedDemand {
  std::int64_t block_threads = 0;
  std::int64_t block_bytes = 0;     ///< static and dynamic shared memory, without reserved bytes
  int resident = 0;                 ///< blocks on an SM
  int resident_without_shared = 0;  ///< blocks on an SM if they used no shared memory
};

/// In bytes.
struct UnifiedMemory {
  std::int64_t shared = 0;    ///< held by resident blocks, including reserved bytes
  std::int64_t carveout = 0;  ///< available to shared memory
  std::int64_t l1 = 0;        ///< available to L1
};

/// How the memory is divided while the kernel runs, if no other carve-out was requested. The sizes
/// are from the CUDA C++ Programming Guide (Shared Memory, for each compute capability). The
/// driver's choice among them was measured on an H200, with the same result on an H100. For other
/// compute capabilities, it is assumed to be the smallest that holds the resident blocks
/// (docs/studies/caches). Empty if the size of the memory is unknown.
std::optional<UnifiedMemory> unified_memory(const DeviceSpec& device, const SharedDemand& demand);

/// Average number of repetitions of a shared memory wavefront that uses all banks, because it
/// coincides with a sector in one cycle (docs/studies/shared_memory). Measured on an H200, with the
/// same result on an H100; 0 for GPUs of other compute capabilities.
struct SectorRepeats {
  // Repetitions of stores, by:
  double line = 0;  ///< a sector of a line that L1 fills
  double copy = 0;  ///< a sector that a copy writes to shared memory
  // Repetitions of loads, by:
  double stored = 0;  ///< a sector stored to global memory, of a line that L1 does not have
  double read = 0;    ///< a sector that the copy engine reads from shared memory
};

SectorRepeats sector_repeats(const DeviceSpec& device, const UnifiedMemory& memory);

}  // namespace gpuexp
