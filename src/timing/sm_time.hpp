// Executes and times the blocks of one SM, or of the SMs of a cluster. In each cycle, each
// scheduler issues at most one instruction, whose dependencies (timing/control.hpp) are satisfied.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/block.hpp"
#include "timing/schedule.hpp"
#include "timing/sm_parameters.hpp"
#include "timing/sm_sums.hpp"

namespace gpuexp {

/// Instruction limit of a timed warp, because the warp's block may wait for a block on another SM,
/// which is not executed.
inline constexpr std::uint64_t kMaxInstructionsPerWarp = 1 << 21;

/// The blocks of one SM. In a launch with clusters, "block" means a cluster here, and "SM" means
/// the SMs of one cluster.
struct BlocksOfSm {
  /// Number of blocks that the SM executes. Unless they rotate (`columns`), their numbers in the
  /// grid, x first, are first, first + step, …
  std::int64_t count = 0;
  std::int64_t step = 1;
  int resident = 1;
  std::int64_t first = 0;
  /// Number of grid columns. If `step` blocks are whole rows and there are several waves, the SM's
  /// blocks rotate through the columns, because a free SM gets the next block.
  std::int64_t columns = 1;
  std::uint64_t draws = 1;  ///< seed for latencies, which differ between SMs
  /// Order of the blocks, a permutation of 0 to count - 1; empty: ascending.
  std::vector<std::int64_t> order = {};
  bool times_all = false;
  /// Whether to stop if the executed blocks differ too much to represent the other blocks.
  bool stops_if_uneven = false;

  std::int64_t number(std::int64_t i) const {
    if (i < static_cast<std::int64_t>(order.size())) i = order[static_cast<std::size_t>(i)];
    const bool in_turn = count > resident && step % columns == 0;
    return i * step + (in_turn ? (first + i % columns) % step : first);
  }
};

struct SmTime : SmSums {
  double clocks = 0;  ///< from the first block's start to the last block's or memory access's end
  std::vector<double> starts;
  std::uint64_t instructions = 0;
  std::uint64_t untimed = 0;  ///< number of warp instructions in iterations that were not timed
  /// Minimum and maximum number of instructions of an executed block or cluster.
  std::uint64_t min_instructions = ~std::uint64_t{0};
  std::uint64_t max_instructions = 0;
  double block_clocks = 0;  ///< sum over all blocks of the time from start to end

  /// Whether max_instructions exceeds min_instructions by at most 10 %.
  bool is_even() const {
    constexpr double kMaxRatio = 1.1;
    return static_cast<double>(max_instructions) <=
           kMaxRatio * static_cast<double>(min_instructions);
  }
};

/// Times the blocks of one SM. `schedule` must be the schedule of the launch's program, without a
/// refusal. For many blocks, executes only the waves that are needed to measure a wave's time;
/// times only some iterations of long loops (timing/fast_forward.hpp). Throws sim::Fault, and
/// sim::Stopped if `stop` returns true.
SmTime time_on_sm(const sim::LaunchState& launch, const Schedule& schedule,
                  const SmParameters& parameters, const BlocksOfSm& blocks,
                  const std::function<bool()>& stop);

}  // namespace gpuexp
