#include "timing/sm_figures.hpp"

#include <span>

namespace gpuexp {

namespace {

constexpr std::int64_t kKib = 1024;

/// L1 and shared memory of an SM, and what of it shared memory can have, in KiB.
struct UnifiedMemory {
  int compute_capability;
  std::int64_t bytes;
  std::array<std::int64_t, 10> carveouts;
  std::size_t count;
};

// CUDA C++ Programming Guide, sections "Shared Memory" of each compute capability.
constexpr UnifiedMemory kMemories[] = {
    {70, 128, {0, 8, 16, 32, 64, 96}, 6},
    {75, 96, {32, 64}, 2},
    {80, 192, {0, 8, 16, 32, 64, 100, 132, 164}, 8},
    {86, 128, {0, 8, 16, 32, 64, 100}, 6},
    {89, 128, {0, 8, 16, 32, 64, 100}, 6},
    {90, 256, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}, 10},
    {100, 256, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}, 10},
    {120, 128, {0, 8, 16, 32, 64, 100}, 6},
};

}  // namespace

std::optional<std::int64_t> l1_bytes(const DeviceSpec& device, std::int64_t shared_bytes) {
  for (const UnifiedMemory& memory : kMemories) {
    if (memory.compute_capability != device.compute_capability()) continue;
    for (const std::int64_t carveout : std::span(memory.carveouts).first(memory.count)) {
      if (carveout * kKib >= shared_bytes) return (memory.bytes - carveout) * kKib;
    }
    return 0;
  }
  return std::nullopt;
}

}  // namespace gpuexp
