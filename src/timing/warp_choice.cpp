#include "timing/warp_choice.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace gpuexp {

namespace {

/// Instructions that a scheduler has in the queue of the memory units at most.
constexpr std::size_t kQueueLength = 8;

/// Two numbers, the higher one first.
__extension__ using Key = unsigned __int128;

// When the scheduler could issue to each pipe; to that of warpgroups, it depends on the warp.
std::array<double, kIssuedTo> could_issue_to(const Scheduler& scheduler) {
  std::array<double, kIssuedTo> from = scheduler.pipe_free;
  const auto at = [&](IssuedTo to) -> double& { return from[static_cast<std::size_t>(to)]; };
  at(IssuedTo::none) = at(IssuedTo::products) = 0;
  at(IssuedTo::fma) = std::min(at(IssuedTo::fma), at(IssuedTo::fma_heavy));
  if (scheduler.queue.size() >= kQueueLength)
    at(IssuedTo::memory) = scheduler.queue[scheduler.queue.size() - kQueueLength];
  for (double& when : from)
    when = std::max(when, scheduler.free_at);
  return from;
}

}  // namespace

// Of the warps whose next instruction can be issued first; the last one where it can stay, else the
// one that is ready longest: all of a block get on alike, as the waits at barriers of an H200 show.
// Of those that have had to wait for their pipe or queue, the one that waits longest.
void choose(Scheduler& scheduler) {
  scheduler.is_changed = false;
  const std::array<double, kIssuedTo> from = could_issue_to(scheduler);
  const auto could_issue = [&](const Turn& turn) {
    const double when = std::max(turn.ready_at, from[static_cast<std::size_t>(turn.to)]);
    return turn.to == IssuedTo::products && turn.warp->warpgroup
               ? std::max(when, turn.warp->warpgroup->place_from(turn.warp->products))
               : when;
  };
  if (scheduler.last && could_issue(*scheduler.last->turn) <= scheduler.free_at) {
    scheduler.choice = {scheduler.last, scheduler.free_at};
    return;
  }
  // This is done for each instruction. Which warp is next no host could predict: a key of two
  // times, whose bits are in their order since they are not negative, needs no branch.
  Key first = ~Key{0};
  const Turn* chosen = nullptr;
  for (const Turn& turn : scheduler.turns) {
    const double when = could_issue(turn);
    const double since = when > turn.ready_at ? turn.waits_since : turn.ready_at;
    const std::uint64_t rank =
        turn.warp == scheduler.last ? 0 : 1 + std::bit_cast<std::uint64_t>(since);
    const Key key = Key{std::bit_cast<std::uint64_t>(when)} << 64 | rank;
    chosen = key < first ? &turn : chosen;
    first = key < first ? key : first;
  }
  const double when = std::bit_cast<double>(static_cast<std::uint64_t>(first >> 64));
  scheduler.choice = chosen && when != kNever ? Choice{chosen->warp, when} : Choice{};
}

}  // namespace gpuexp
