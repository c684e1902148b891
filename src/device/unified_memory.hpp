// The memory of an SM that L1 and shared memory have in common, and how the driver divides it.
#pragma once

#include <cstdint>
#include <optional>

#include "device/device_spec.hpp"

namespace gpuexp {

/// What a kernel's blocks need of it.
struct SharedDemand {
  std::int64_t block_threads = 0;
  std::int64_t block_bytes = 0;  ///< static and dynamic shared memory, without what is reserved
  int resident = 0;              ///< blocks on an SM
  int otherwise_resident = 0;    ///< likewise, if they had no shared memory
};

/// In bytes.
struct UnifiedMemory {
  std::int64_t shared = 0;    ///< that resident blocks hold, with what is reserved for each
  std::int64_t carveout = 0;  ///< that shared memory can have
  std::int64_t l1 = 0;        ///< that is left to L1
};

/// How it is divided while the kernel runs, where nobody has asked for another carve-out. Sizes are
/// those of the CUDA C++ Programming Guide (Shared Memory, of each compute capability). Which of
/// them the driver takes was counted on an H200 and alike on an H100, and is taken to be the
/// smallest that holds the resident blocks on GPUs of other compute capabilities
/// (docs/studies/caches). Empty where the size of the memory is not known.
std::optional<UnifiedMemory> unified_memory(const DeviceSpec& device, const SharedDemand& demand);

/// How often a wavefront of shared memory that has all banks is repeated, in the mean, since it
/// comes in the clock of a sector (docs/studies/shared_memory).
/// Measured on an H200 and alike on an H100; 0 for GPUs of other compute capabilities.
struct SectorRepeats {
  // Of stores.
  double line = 0;  ///< a sector of a line that L1 takes in
  double copy = 0;  ///< one that a copy writes to shared memory
  // Of loads.
  double stored = 0;  ///< one that is stored to global memory, of a line that L1 does not have
  double read = 0;    ///< one that the copy engine reads from shared memory
};

SectorRepeats sector_repeats(const DeviceSpec& device, const UnifiedMemory& memory);

}  // namespace gpuexp
