// Sampled simulation: where the warps of an SM do the same turn after turn, further turns are
// executed without being timed (detailed windows with functional fast-forwarding between them:
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

/// What an SM has come to after so many instructions of its warps.
struct SmProgress {
  std::uint64_t instructions = 0;
  std::uint64_t blocks = 0;  ///< that have started, and that have ended
  double clock = 0;
  double alone = 0;  ///< ResidentWarp::alone of all warps
  SmSums sums;
};

/// Watches the instructions of an SM's warps in windows of equal number.
class SteadyState {
 public:
  /// A launch whose warps wait for phases of mbarriers, for products of warpgroups or for other SMs
  /// is timed throughout.
  explicit SteadyState(const Schedule& schedule);

  /// The current window ends after so many instructions.
  std::uint64_t window_end() const { return end_; }

  /// Ends the window. Returns whether the last two came to the same places and took as many clocks,
  /// but for a percent, in some turns of so many warps, and no block started or ended.
  bool end_window(SmProgress now, std::size_t warps);

  /// The beginning of the last two windows, and their end.
  const SmProgress& begin() const { return marks_.front(); }
  const SmProgress& end() const { return marks_.back(); }
  /// Places of the program that warps came to in them.
  std::vector<bool> places() const { return visited(begin(), end()); }

  /// The next window is held against none before it.
  void begin_anew(SmProgress now);

 private:
  static std::vector<bool> visited(const SmProgress& from, const SmProgress& to);
  bool is_alike(std::size_t warps);
  void lengthen();

  static constexpr std::uint64_t kShortest = 1 << 15;
  std::uint64_t length_ = kShortest;
  std::uint64_t end_;
  std::deque<SmProgress> marks_;  ///< ends of windows, three at most
};

/// What execute_turns() did.
struct Turns {
  std::uint64_t instructions = 0;  ///< of all warps
  bool are_last = false;           ///< not all warps have come back
};

/// Executes what warps do until each has come back to where it is, after `least` instructions of it
/// or more, each of which takes `alone` clocks. None leaves `places` of the program, and no lane
/// exits. Throws sim::Fault.
Turns execute_turns(const std::vector<std::unique_ptr<ResidentCluster>>& clusters,
                    const Schedule& schedule, const std::vector<bool>& places, std::uint64_t least,
                    double alone);

}  // namespace gpuexp
