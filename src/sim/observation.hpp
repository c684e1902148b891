// Access counts and traces per instruction, recorded if requested.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/access_counts.hpp"

namespace gpuexp::sim {

struct PlaceCounts {
  MemoryCounts memory;
  /// Number of sectors that the global loads and stores would touch if their bytes were contiguous;
  /// at most memory.load_sectors and memory.store_sectors. Nsight Compute's source page calls them
  /// ideal.
  std::uint64_t ideal_load_sectors = 0;
  std::uint64_t ideal_store_sectors = 0;
  /// Number of warp requests to shared memory: loads, stores and writes of cp.async, no atomics.
  std::uint64_t shared_requests = 0;
  /// Maximum, over shared memory loads and stores, of wavefronts / wavefronts without conflicts.
  std::uint64_t bank_conflict = 0;
  /// Wavefronts in which cp.async writes shared memory; global_wavefronts includes them.
  std::uint64_t async_write_wavefronts = 0;
  /// Minimum and maximum address of the first active lane in global or local memory accesses.
  std::uint64_t lowest = ~std::uint64_t{0};
  std::uint64_t highest = 0;
  std::uint64_t seen = 0;

  static std::uint64_t bit_of(Space space, Access kind) {
    return std::uint64_t{1} << (16 * static_cast<unsigned>(space) + static_cast<unsigned>(kind));
  }
  bool has(Space space, Access kind) const { return seen & bit_of(space, kind); }
  void add(const PlaceCounts& more, std::uint64_t times);
  void halve();
};

void count(PlaceCounts& counts, const MemoryAccess& access);

struct TracedAccess {
  std::uint32_t place = 0;  ///< index of the instruction in the program
  Space space = Space::global;
  Access kind = Access::load;
  unsigned width = 4;
  LaneMask lanes = 0;
  Lanes64 address{};
};

/// Accesses of one warp, at one execution of each memory instruction.
struct WarpTrace {
  std::vector<TracedAccess> accesses;
  /// Number of executions by the warp, by index in the program.
  std::vector<std::uint64_t> executions;
};

struct TracedWarp {
  std::int64_t block = 0;  ///< number in the grid: x first, then y, then z
  unsigned warp = 0;
  std::uint64_t execution = 0;
};

struct Observation {
  bool places = false;
  std::optional<TracedWarp> warp;
};

class Observed {
 public:
  Observed(const Observation& of, std::size_t places, bool is_traced_block);

  void note(std::uint32_t place, unsigned warp, std::uint64_t step, const MemoryAccess& access);

  std::vector<PlaceCounts> places;
  std::optional<WarpTrace> trace;  ///< empty unless the traced warp is in the block

 private:
  void trace_access(std::uint32_t place, std::uint64_t step, const MemoryAccess& access);

  TracedWarp warp_;
  /// By index in the program: step of the traced warp's last execution.
  std::vector<std::uint64_t> last_step_;
};

}  // namespace gpuexp::sim
