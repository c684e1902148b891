// Time of the blocks of one SM, or of a cluster's SMs, by executing them. In each cycle, each
// scheduler issues an instruction whose dependencies (timing/control.hpp) are satisfied. The memory
// path determines when loads return.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/block.hpp"
#include "timing/schedule.hpp"
#include "timing/sm_parameters.hpp"
#include "timing/sm_sums.hpp"

namespace gpuexp {

/// Limit for a timed warp, because its block may wait for one of another SM that is not executed.
inline constexpr std::uint64_t kMaxInstructionsPerWarp = 1 << 21;

/// Blocks of one SM. If the launch has clusters: clusters on as many SMs as a cluster has blocks.
struct BlocksOfSm {
  /// All blocks that the SM gets. Their numbers in the grid, x first, are first, first + step, …
  std::int64_t count = 0;
  std::int64_t step = 1;
  int resident = 1;
  std::int64_t first = 0;
  /// Columns of the grid. If `step` blocks are whole rows and there are several waves, the SM's
  /// blocks iterate over the columns, because free SMs get the next block.
  std::int64_t columns = 1;
  std::uint64_t draws = 1;  ///< seed for latencies, which differ between SMs
  /// If not empty: the order of the blocks, a permutation of 0 to count - 1.
  std::vector<std::int64_t> order = {};
  bool times_all = false;  ///< times all iterations of long loops
  /// Ends the run if the executed blocks differ and cannot stand for the others.
  bool stops_if_uneven = false;

  /// Number in the grid of the i-th block.
  std::int64_t number(std::int64_t i) const {
    if (i < static_cast<std::int64_t>(order.size())) i = order[static_cast<std::size_t>(i)];
    const bool in_turn = count > resident && step % columns == 0;
    return i * step + (in_turn ? (first + i % columns) % step : first);
  }
};

struct SmTime : SmSums {
  double clocks = 0;               ///< from the first block's start to the last block's end
  std::vector<double> starts;      ///< start of each executed block
  std::uint64_t instructions = 0;  ///< warp instructions
  std::uint64_t untimed = 0;       ///< number of these in iterations that were not timed
  /// Minimum and maximum over the executed blocks or clusters.
  std::uint64_t min_instructions = ~std::uint64_t{0};
  std::uint64_t max_instructions = 0;
  double block_clocks = 0;  ///< sum of all blocks' times from start to end

  /// Whether blocks have similar numbers of instructions.
  bool is_even() const {
    constexpr double kMaxRatio = 1.1;
    return static_cast<double>(max_instructions) <=
           kMaxRatio * static_cast<double>(min_instructions);
  }
};

/// Times the blocks of one SM. `schedule` is the schedule of the launch's program, without a
/// refusal. For many blocks, it executes as many waves as show a wave's time, and leaves whole
/// waves. It times some iterations of long loops (timing/fast_forward.hpp). Throws sim::Fault, and
/// sim::Stopped if `stop` returns true.
SmTime time_on_sm(const sim::LaunchState& launch, const Schedule& schedule,
                  const SmParameters& parameters, const BlocksOfSm& blocks,
                  const std::function<bool()>& stop);

}  // namespace gpuexp
