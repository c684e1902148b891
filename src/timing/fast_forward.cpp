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

/// A warp, and where it was.
struct Home {
  ResidentWarp* warp = nullptr;
  std::uint32_t next = 0;
  bool is_running = false;  ///< it waits at a barrier otherwise
  std::uint64_t executed = 0;
  bool has_left = false;

  bool is_there() const {
    const sim::Divergence& at = warp->warp->divergence;
    return at.next() == next && at.is_running() == is_running;
  }
};

// Until the warp has to wait, is back, or would leave the places. Returns whether it did anything.
bool execute_turn(Home& home, const Schedule& schedule, const std::vector<bool>& places,
                  std::uint64_t least) {
  const sim::Divergence& at = home.warp->warp->divergence;
  sim::Block& block = *home.warp->block->block;
  const std::uint64_t before = home.executed;
  while (at.is_running() && !(home.executed >= least && home.is_there())) {
    const std::uint32_t next = at.next();
    home.has_left = next >= places.size() || !places[next] ||
                    (schedule.ops[next].exits && block.lanes_of_next(*home.warp->warp) != 0);
    if (home.has_left) break;
    block.step(*home.warp->warp);
    ++home.executed;
  }
  return home.executed > before;
}

std::vector<Home> homes_of(const std::vector<std::unique_ptr<ResidentCluster>>& clusters) {
  std::vector<Home> homes;
  for (const auto& cluster : clusters) {
    for (const auto& block : cluster->blocks) {
      for (const auto& warp : block->warps) {
        const sim::Divergence& at = warp->warp->divergence;
        if (!at.has_exited()) homes.push_back({warp.get(), at.next(), at.is_running()});
      }
    }
  }
  return homes;
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
  return marks_.size() == kMarks && is_alike(warps);
}

void SteadyState::begin_anew(SmProgress now) {
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

// Windows of few turns differ by the part of one that is in them, and windows of few clocks by the
// latencies that were drawn: longer ones will tell.
bool SteadyState::is_alike(std::size_t warps) {
  constexpr double kFewestTurns = 2;
  constexpr double kAlike = 0.01;
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
  if (count(middle, end()) >= kFewestTurns * visits &&
      std::abs(of_second - of_first) <= kAlike * of_first)
    return true;
  lengthen();
  return false;
}

void SteadyState::lengthen() {
  if (length_ >= kLongest) return;
  length_ *= 2;
  SmProgress last = std::move(marks_.back());
  begin_anew(std::move(last));
}

Turns execute_turns(const std::vector<std::unique_ptr<ResidentCluster>>& clusters,
                    const Schedule& schedule, const std::vector<bool>& places, std::uint64_t least,
                    double alone) {
  std::vector<Home> homes = homes_of(clusters);
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (Home& home : homes)
      goes_on |= execute_turn(home, schedule, places, least);
    for (const auto& cluster : clusters)
      goes_on |= cluster->cluster->release_barriers();
  }
  Turns turns;
  for (const Home& home : homes) {
    turns.instructions += home.executed;
    home.warp->alone += alone * static_cast<double>(home.executed);
    home.warp->block->cluster->instructions += home.executed;
    turns.are_last |= home.has_left || !home.is_there();
  }
  return turns;
}

}  // namespace gpuexp
