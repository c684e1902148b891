// Sampled simulation: if the warps of an SM repeat loop iterations in equal times, further
// iterations are executed without being timed (functional fast-forwarding between detailed windows:
// Wunderlich, Wenisch, Falsafi, Hoe, SMARTS, ISCA 2003).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "timing/resident.hpp"
#include "timing/schedule.hpp"
#include "timing/sm_sums.hpp"

namespace gpuexp {

struct SmProgress {
  std::uint64_t instructions = 0;
  std::uint64_t blocks = 0;  ///< number of block starts plus number of block ends
  double clock = 0;
  double alone = 0;  ///< sum of ResidentWarp::alone over the resident warps
  SmSums sums;
};

/// Compares consecutive windows; each window is a number of consecutive warp instructions of an SM.
class SteadyState {
 public:
  /// If the program uses mbarriers, bulk copies, wgmma or cluster barriers, no window ends, so the
  /// launch is timed completely.
  explicit SteadyState(const Schedule& schedule);

  /// Number of instructions at which the current window ends.
  std::uint64_t window_end() const { return end_; }

  /// Ends the window. Returns whether the last two windows are steady: no block started or ended,
  /// their cycles per instruction differ by at most 1 %, and the second window lasted at least two
  /// iterations of `warps` warps and executed no instructions that the first did not.
  bool end_window(SmProgress now, std::size_t warps);

  /// Progress at the start and at the end of the last two windows.
  const SmProgress& begin() const { return marks_.front(); }
  const SmProgress& end() const { return marks_.back(); }
  /// For each instruction of the program: whether warps executed it in the last two windows.
  std::vector<bool> places() const { return visited(begin(), end()); }

  /// Starts a window that is not compared with earlier windows.
  void restart(SmProgress now);

 private:
  static std::vector<bool> visited(const SmProgress& from, const SmProgress& to);
  bool is_steady(std::size_t warps);
  void lengthen();

  static constexpr std::uint64_t kShortest = 1 << 15;
  std::uint64_t length_ = kShortest;
  std::uint64_t end_;
  std::deque<SmProgress> marks_;  ///< progress at the last window ends, at most three
};

struct SkippedIterations {
  std::uint64_t instructions = 0;
  bool are_last = false;  ///< whether some warp did not return to its position
};

/// Executes each warp for at least `least` instructions, until it returns to its position. Each
/// instruction adds `alone` cycles to ResidentWarp::alone. Warps stop before an instruction that is
/// not in `places`, and before a lane exits. Throws sim::Fault.
SkippedIterations execute_iterations(const std::vector<std::unique_ptr<ResidentCluster>>& clusters,
                                     const Schedule& schedule, const std::vector<bool>& places,
                                     std::uint64_t least, double alone);

}  // namespace gpuexp
