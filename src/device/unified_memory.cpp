#include "device/unified_memory.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace gpuexp {

namespace {

constexpr std::int64_t kKib = 1024;
constexpr int kMeasuredComputeCapability = 90;

struct Sizes {
  int compute_capability;
  std::int64_t kib;
  std::array<std::int64_t, 10> carveouts;
  std::size_t count;
};

constexpr Sizes kSizes[] = {
    {70, 128, {0, 8, 16, 32, 64, 96}, 6},
    {75, 96, {32, 64}, 2},
    {80, 192, {0, 8, 16, 32, 64, 100, 132, 164}, 8},
    {86, 128, {0, 8, 16, 32, 64, 100}, 6},
    {89, 128, {0, 8, 16, 32, 64, 100}, 6},
    {90, 256, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}, 10},
    {100, 256, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}, 10},
    {120, 128, {0, 8, 16, 32, 64, 100}, 6},
};

// The smallest carve-out of at least `bytes` bytes; the largest carve-out if none is large
// enough.
std::int64_t carveout_for(const Sizes& sizes, std::int64_t bytes) {
  const auto all = std::span(sizes.carveouts).first(sizes.count);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](auto c) { return c * kKib >= bytes; });
  return (found == all.end() ? all.back() : *found) * kKib;
}

// Carve-out of a kernel without shared memory, measured for blocks of 32 to 384, 512 to 704, and
// 768 to 1024 threads.
std::int64_t wanted_without_shared(const SharedDemand& demand) {
  constexpr std::int64_t kFew = 384;
  constexpr std::int64_t kMany = 704;
  if (demand.block_threads > kMany || demand.resident_without_shared == 1) return 8 * kKib;
  return (demand.block_threads > kFew ? 16 : 32) * kKib;
}

// The driver reserves shared memory for twice the number of blocks that would be resident without
// shared memory, at most 32. The number is not doubled if blocks have 960 or more threads, or if
// only one block would be resident. The driver reserves at most 132 KiB, unless the resident blocks
// use more. All measured launches confirm this, except launches of blocks of 128 threads with 128
// bytes or less (docs/studies/caches/carveouts.csv).
std::int64_t wanted_bytes(const DeviceSpec& device, const SharedDemand& demand) {
  constexpr std::int64_t kUnit = 128;
  constexpr std::int64_t kMost = 132 * kKib;
  constexpr std::int64_t kManyThreads = 960;
  constexpr int kMostBlocks = 32;
  if (demand.block_bytes == 0) return wanted_without_shared(demand);
  const std::int64_t block =
      ceil_div(demand.block_bytes, kUnit) * kUnit + device.sm.reserved_shared_bytes;
  const std::int64_t held = block * demand.resident;
  const bool is_doubled = demand.block_threads < kManyThreads && demand.resident_without_shared > 1;
  const std::int64_t wanted =
      block * (is_doubled ? std::min(2 * demand.resident_without_shared, kMostBlocks)
                          : demand.resident_without_shared);
  return wanted <= kMost ? wanted : std::max(held, kMost);
}

}  // namespace

std::optional<UnifiedMemory> unified_memory(const DeviceSpec& device, const SharedDemand& demand) {
  const auto sizes = std::find_if(std::begin(kSizes), std::end(kSizes), [&](const Sizes& s) {
    return s.compute_capability == device.compute_capability();
  });
  if (sizes == std::end(kSizes)) return std::nullopt;
  UnifiedMemory memory;
  memory.shared = (demand.block_bytes + device.sm.reserved_shared_bytes) * demand.resident;
  memory.carveout = carveout_for(*sizes, device.compute_capability() == kMeasuredComputeCapability
                                             ? wanted_bytes(device, demand)
                                             : memory.shared);
  memory.l1 = sizes->kib * kKib - memory.carveout;
  return memory;
}

SectorRepeats sector_repeats(const DeviceSpec& device, const UnifiedMemory& memory) {
  if (device.compute_capability() != kMeasuredComputeCapability) return {};
  // The memory has two halves, and accesses to different halves do not conflict. Shared memory
  // starts at the beginning of the first half. In this half, L1 has lines as if the carve-out were
  // 8 KiB larger.
  constexpr double kHalf = 128 * kKib;
  constexpr double kWithoutLines = 8 * kKib;
  // Repetitions of a wavefront in the same half as the sector (docs/studies/shared_memory).
  constexpr double kLine = 0.86;
  constexpr double kStored = 0.7;
  constexpr double kCopied = 0.89;
  constexpr double kRead = 1;
  const auto carveout = static_cast<double>(memory.carveout);
  const auto shared = static_cast<double>(memory.shared);
  const double of_lines =
      std::max(0.0, kHalf - kWithoutLines - carveout) / (2 * kHalf - kWithoutLines - carveout);
  const double of_shared = shared > kHalf ? kHalf / shared : 1;
  const auto meet = [](double a, double b) { return a * b + (1 - a) * (1 - b); };
  const double lines = meet(of_lines, of_shared);
  const double own = meet(of_shared, of_shared);
  return {kLine * lines, kCopied * own, kStored * lines, kRead * own};
}

}  // namespace gpuexp
