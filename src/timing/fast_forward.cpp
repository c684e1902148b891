#include "timing/fast_forward.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gpuexp {

namespace {

constexpr std::uint64_t kLongest = 1 << 20;

bool is_timed_throughout(const TimedOp& op) {
  using Kind = TimedOp::Kind;
  return op.kind == Kind::mbarrier || op.kind == Kind::phase_check || op.kind == Kind::bulk ||
         op.kind == Kind::async_store || op.kind == Kind::product || op.kind == Kind::cluster_wait;
}

struct WarpPosition {
  ResidentWarp* warp = nullptr;
  std::uint32_t next = 0;
  bool is_running = false;  ///< false: the warp waits at a barrier
  std::uint64_t executed = 0;
  bool has_left = false;

  bool has_returned() const {
    const sim::Divergence& at = warp->warp->divergence;
    return at.next() == next && at.is_running() == is_running;
  }
};

// Executes the warp until it waits, has returned to its position after `least` instructions, or
// would leave `places` or exit. Returns whether it executed an instruction.
bool execute_iteration(WarpPosition& position, const Schedule& schedule,
                       const std::vector<bool>& places, std::uint64_t least) {
  const sim::Divergence& at = position.warp->warp->divergence;
  sim::Block& block = *position.warp->block->block;
  const std::uint64_t before = position.executed;
  while (at.is_running() && !(position.executed >= least && position.has_returned())) {
    const std::uint32_t next = at.next();
    position.has_left =
        next >= places.size() || !places[next] ||
        (schedule.ops[next].exits && block.lanes_of_next(*position.warp->warp) != 0);
    if (position.has_left) break;
    block.step(*position.warp->warp);
    ++position.executed;
  }
  return position.executed > before;
}

std::vector<WarpPosition> positions_of(
    const std::vector<std::unique_ptr<ResidentCluster>>& clusters) {
  std::vector<WarpPosition> positions;
  for (const auto& cluster : clusters) {
    for (const auto& block : cluster->blocks) {
      for (const auto& warp : block->warps) {
        const sim::Divergence& at = warp->warp->divergence;
        if (!at.has_exited()) positions.push_back({warp.get(), at.next(), at.is_running()});
      }
    }
  }
  return positions;
}

}  // namespace

SteadyState::SteadyState(const Schedule& schedule)
    : end_(std::any_of(schedule.ops.begin(), schedule.ops.end(), is_timed_throughout)
               ? std::numeric_limits<std::uint64_t>::max()
               : kShortest) {}

bool SteadyState::end_window(SmProgress now, std::size_t warps) {
  constexpr std::size_t kMarks = 3;
  end_ = now.instructions + length_;
  marks_.push_back(std::move(now));
  if (marks_.size() > kMarks) marks_.pop_front();
  return marks_.size() == kMarks && is_steady(warps);
}

void SteadyState::restart(SmProgress now) {
  end_ = now.instructions + length_;
  marks_.clear();
  marks_.push_back(std::move(now));
}

std::vector<bool> SteadyState::visited(const SmProgress& from, const SmProgress& to) {
  std::vector<bool> places(to.sums.places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = to.sums.places[i][WarpState::selected] > from.sums.places[i][WarpState::selected];
  return places;
}

// Short windows differ by a partial iteration and by randomly drawn latencies, so windows are
// lengthened up to kLongest instructions until they agree.
bool SteadyState::is_steady(std::size_t warps) {
  constexpr double kMinIterations = 2;
  constexpr double kTolerance = 0.01;
  const SmProgress& middle = marks_[1];
  if (begin().blocks != end().blocks) return false;
  const std::vector<bool> first = visited(begin(), middle);
  const std::vector<bool> second = visited(middle, end());
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (second[i] && !first[i]) return false;
  }
  const auto count = [](const SmProgress& from, const SmProgress& to) {
    return static_cast<double>(to.instructions - from.instructions);
  };
  const auto visits = static_cast<double>(std::count(second.begin(), second.end(), true)) *
                      static_cast<double>(warps);
  const double of_first = (middle.clock - begin().clock) / count(begin(), middle);
  const double of_second = (end().clock - middle.clock) / count(middle, end());
  if (count(middle, end()) >= kMinIterations * visits &&
      std::abs(of_second - of_first) <= kTolerance * of_first)
    return true;
  lengthen();
  return false;
}

void SteadyState::lengthen() {
  if (length_ >= kLongest) return;
  length_ *= 2;
  SmProgress last = std::move(marks_.back());
  restart(std::move(last));
}

SkippedIterations execute_iterations(const std::vector<std::unique_ptr<ResidentCluster>>& clusters,
                                     const Schedule& schedule, const std::vector<bool>& places,
                                     std::uint64_t least, double alone) {
  std::vector<WarpPosition> positions = positions_of(clusters);
  for (bool any_progress = true; any_progress;) {
    any_progress = false;
    for (WarpPosition& position : positions)
      any_progress |= execute_iteration(position, schedule, places, least);
    for (const auto& cluster : clusters)
      any_progress |= cluster->cluster->release_barriers();
  }
  SkippedIterations iterations;
  for (const WarpPosition& position : positions) {
    iterations.instructions += position.executed;
    position.warp->alone += alone * static_cast<double>(position.executed);
    position.warp->block->cluster->instructions += position.executed;
    iterations.are_last |= position.has_left || !position.has_returned();
  }
  return iterations;
}

}  // namespace gpuexp
