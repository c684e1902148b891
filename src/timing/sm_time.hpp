// How long one SM takes for its blocks, or the SMs of a cluster for theirs, by executing them: each
// scheduler issues an instruction per clock of a warp that has nothing left to wait for, as the
// instruction's encoding says (timing/control.hpp), and loads come back when the memory path has
// served them.
//
// Blocks execute as they are issued, so that what branches do, and what addresses are asked for,
// are the kernel's own. Results are not kept apart from others': the memory is the simulator's.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/block.hpp"
#include "timing/schedule.hpp"
#include "timing/sm_figures.hpp"
#include "timing/sm_sums.hpp"

namespace gpuexp {

/// Of a warp whose time is asked for. A block may wait for one that another SM has, and which is
/// not executed.
inline constexpr std::uint64_t kMostInstructionsOfWarp = 1 << 21;

/// Blocks of one SM; of a launch with clusters, clusters on as many SMs as they have blocks.
struct BlocksOfSm {
  /// Of all that come to it; their numbers in the grid, x first, are first, first + step, …
  std::int64_t count = 0;
  std::int64_t step = 1;
  int resident = 1;
  std::int64_t first = 0;
  /// Of the grid. Where `step` blocks are whole rows of it and blocks come in several waves, they
  /// take the columns in turn: whichever SM is free gets the next block, so that none stays in one.
  std::int64_t columns = 1;
  std::uint64_t draws = 1;  ///< begins the sequence of latencies; SMs differ in it
  /// Not empty: a permutation of 0 to count - 1, in which they come.
  std::vector<std::int64_t> order = {};
  bool times_all = false;  ///< turns of long loops, too
  /// Whoever asks has no use for a run of some of the blocks that differ: it ends once they do.
  bool stops_if_uneven = false;

  /// In the grid, of the i-th that comes.
  std::int64_t number(std::int64_t i) const {
    if (i < static_cast<std::int64_t>(order.size())) i = order[static_cast<std::size_t>(i)];
    const bool in_turn = count > resident && step % columns == 0;
    return i * step + (in_turn ? (first + i % columns) % step : first);
  }
};

struct SmTime : SmSums {
  double clocks = 0;               ///< from the first block's start until the last is done
  std::vector<double> starts;      ///< of each block that was executed
  std::uint64_t instructions = 0;  ///< of warps
  std::uint64_t untimed = 0;       ///< of these, in turns that were executed without being timed
  /// Of the block, or the cluster, that has the fewest, and of the one that has the most.
  std::uint64_t fewest_instructions = ~std::uint64_t{0};
  std::uint64_t most_instructions = 0;
  double block_clocks = 0;  ///< from each one's start to its end, all of them

  /// Whether blocks have about as many instructions as each other.
  bool is_even() const {
    constexpr double kAlike = 1.1;
    return static_cast<double>(most_instructions) <=
           kAlike * static_cast<double>(fewest_instructions);
  }
};

/// The schedule is of the launch's program and has no refusal. Of many blocks, some waves are
/// executed: as many as show how long a wave takes, and what the last wave has of one. Of long
/// loops, some turns are timed (timing/fast_forward.hpp). `stop` is asked now and then; true ends
/// it with sim::Stopped. Throws sim::Fault.
SmTime time_on_sm(const sim::LaunchState& launch, const Schedule& schedule,
                  const SmFigures& figures, const BlocksOfSm& blocks,
                  const std::function<bool()>& stop);

}  // namespace gpuexp
