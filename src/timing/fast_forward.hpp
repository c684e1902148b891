// Sampled simulation: once the warps of an SM repeat loop iterations in equal times, further
// iterations are executed without being timed (detailed windows with functional fast-forwarding
// between them: Wunderlich, Wenisch, Falsafi, Hoe, SMARTS, ISCA 2003).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "timing/resident.hpp"
#include "timing/schedule.hpp"
#include "timing/sm_sums.hpp"

namespace gpuexp {

/// State of an SM after a number of warp instructions.
struct SmProgress {
  std::uint64_t instructions = 0;
  std::uint64_t blocks = 0;  ///< number of starts plus number of ends
  double clock = 0;
  double alone = 0;  ///< sum of ResidentWarp::alone
  SmSums sums;
};

/// Compares windows of an SM's warp instructions.
class SteadyState {
 public:
  /// Launches are timed completely if their warps wait for mbarrier phases, for warpgroup products
  /// or for other SMs.
  explicit SteadyState(const Schedule& schedule);

  /// Number of instructions at which the current window ends.
  std::uint64_t window_end() const { return end_; }

  /// Ends the window. Returns true if the last two windows executed the same instructions at equal
  /// rates, within 1 %, for two iterations of `warps` warps, and no block started or ended.
  bool end_window(SmProgress now, std::size_t warps);

  /// Progress at the start of the last two windows, and at their end.
  const SmProgress& begin() const { return marks_.front(); }
  const SmProgress& end() const { return marks_.back(); }
  /// Whether warps executed each instruction of the program in them.
  std::vector<bool> places() const { return visited(begin(), end()); }

  /// Starts a window that is not compared with earlier ones.
  void restart(SmProgress now);

 private:
  static std::vector<bool> visited(const SmProgress& from, const SmProgress& to);
  bool is_steady(std::size_t warps);
  void lengthen();

  static constexpr std::uint64_t kShortest = 1 << 15;
  std::uint64_t length_ = kShortest;
  std::uint64_t end_;
  std::deque<SmProgress> marks_;  ///< ends of windows, at most three
};

/// Result of execute_iterations().
struct SkippedIterations {
  std::uint64_t instructions = 0;  ///< sum over all warps
  bool are_last = false;           ///< some warp did not return to its position
};

/// Executes each warp until it returns to its position, after `least` of its instructions or more,
/// which add `alone` cycles each to ResidentWarp::alone. Warps stop before they leave `places` of
/// the program or before a lane exits. Throws sim::Fault.
SkippedIterations execute_iterations(const std::vector<std::unique_ptr<ResidentCluster>>& clusters,
                                     const Schedule& schedule, const std::vector<bool>& places,
                                     std::uint64_t least, double alone);

}  // namespace gpuexp
