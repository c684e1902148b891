// What is kept of each instruction's accesses where somebody asks for more than a block's sums.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/access_counts.hpp"

namespace gpuexp::sim {

/// Accesses of one instruction.
struct PlaceCounts {
  MemoryCounts memory;
  /// What memory has in load_sectors and store_sectors would be, if lanes asked for bytes that lie
  /// side by side; never more than it has. The ideal of Nsight Compute's source page.
  std::uint64_t ideal_load_sectors = 0;
  std::uint64_t ideal_store_sectors = 0;
  /// Accesses of shared memory, those of cp.async among them.
  std::uint64_t shared_requests = 0;
  /// Of these, the most wavefronts that one took, over the least for as many bytes.
  std::uint64_t bank_conflict = 0;
  /// What cp.async takes to write to shared memory; counted in global_wavefronts, too.
  std::uint64_t async_write_wavefronts = 0;
  /// In global memory, the least and greatest address that the first lane of an access had.
  std::uint64_t lowest = ~std::uint64_t{0};
  std::uint64_t highest = 0;
  /// A bit for each space and kind of access, bit_of().
  std::uint64_t seen = 0;

  static std::uint64_t bit_of(Space space, Access kind) {
    return std::uint64_t{1} << (16 * static_cast<unsigned>(space) + static_cast<unsigned>(kind));
  }
  bool has(Space space, Access kind) const { return seen & bit_of(space, kind); }
  /// Adds what `more` counts, so many times.
  void add(const PlaceCounts& more, std::uint64_t times);
  /// Rounds up.
  void halve();
};

/// Adds an access to the counts of its instruction.
void count(PlaceCounts& counts, const MemoryAccess& access);

struct TracedAccess {
  std::uint32_t place = 0;  ///< in the program
  Space space = Space::global;
  Access kind = Access::load;
  unsigned width = 4;
  LaneMask lanes = 0;
  Lanes64 address{};
};

/// What one warp did at one execution of each instruction that reaches memory.
struct WarpTrace {
  std::vector<TracedAccess> accesses;     ///< in the order in which they were executed
  std::vector<std::uint64_t> executions;  ///< by place: how often the warp came to it in all
};

/// The warp that is traced.
struct TracedWarp {
  std::int64_t block = 0;  ///< x first, then y, then z
  unsigned warp = 0;       ///< of the block
  std::uint64_t execution = 0;
};

/// What to keep of a launch.
struct Observation {
  bool places = false;  ///< counts of each instruction
  std::optional<TracedWarp> warp;
};

/// What is kept of one block.
class Observed {
 public:
  Observed(const Observation& of, std::size_t places, bool is_traced_block);

  void note(std::uint32_t place, unsigned warp, std::uint64_t step, const MemoryAccess& access);

  std::vector<PlaceCounts> places;
  std::optional<WarpTrace> trace;  ///< where the block has the traced warp

 private:
  void trace_access(std::uint32_t place, std::uint64_t step, const MemoryAccess& access);

  TracedWarp warp_;
  std::vector<std::uint64_t> last_step_;  ///< by place: when the traced warp came to it last
};

}  // namespace gpuexp::sim
