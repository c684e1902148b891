#include "timing/warp_choice.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "sim/vectorized.hpp"

namespace gpuexp {

namespace {

/// Maximum number of instructions of one scheduler in the memory units' queue.
constexpr std::size_t kQueueLength = 8;

/// Bits of a time as an integer. Their order is the order of times, because no time is negative.
/// Compilers vectorize the minimum of integers.
using Time = std::int64_t;
constexpr Time kLast = std::numeric_limits<Time>::max();

GPUEXP_INLINED Time time_of(double clock) {
  return std::bit_cast<Time>(clock);
}

// Earliest issue to each pipe. For wgmma, the time also depends on the warp.
std::array<double, kIssuedTo> earliest_issue_times(const Scheduler& scheduler) {
  std::array<double, kIssuedTo> from = scheduler.pipe_free;
  const auto at = [&](IssuedTo to) -> double& { return from[static_cast<std::size_t>(to)]; };
  at(IssuedTo::none) = at(IssuedTo::products) = 0;
  const double half = at(IssuedTo::fma);
  const double heavy = at(IssuedTo::fma_heavy);
  at(IssuedTo::fma) = std::min(half, heavy);
  at(IssuedTo::fma_both) = std::max(half, heavy);
  at(IssuedTo::fma_wide) = std::max(heavy, at(IssuedTo::alu));
  if (scheduler.queue.size() >= kQueueLength)
    at(IssuedTo::memory) = scheduler.queue[scheduler.queue.size() - kQueueLength];
  for (double& when : from)
    when = std::max(when, scheduler.free_at);
  return from;
}

double product_place(const ResidentWarp& warp) {
  return warp.warpgroup ? warp.warpgroup->place_from(warp.products) : 0;
}

double earliest_issue(const ResidentWarp& warp, const std::array<double, kIssuedTo>& from) {
  const Turn turn = warp.turn();
  const double when = std::max(turn.ready_at, from[turn.to]);
  return turn.to == static_cast<std::uint64_t>(IssuedTo::products)
             ? std::max(when, product_place(warp))
             : when;
}

// Computes when each warp's next instruction can issue, and returns the earliest time. The
// vectorized loops have no branches, because the host could not predict them.
GPUEXP_VECTORIZED Time find_issue_times(IssueCandidates& turns,
                                        const std::array<double, kIssuedTo>& from, double free_at) {
  constexpr auto kProducts = static_cast<std::uint64_t>(IssuedTo::products);
  const std::size_t count = turns.warps.size();
  const double* const ready_at = turns.ready_at.data();
  const std::uint64_t* const to = turns.to.data();
  Time* const issued_at = turns.compared.data();
  const Time first = time_of(free_at);
  std::uint64_t any_products = 0;
  GPUEXP_LANE_BY_LANE
  for (std::size_t i = 0; i < count; ++i) {
    issued_at[i] = std::max(time_of(ready_at[i]), first);
    any_products |= to[i] == kProducts ? 1 : 0;
  }
  for (std::uint64_t pipe = 0; pipe < kIssuedTo; ++pipe) {
    const Time pipe_from = time_of(from[pipe]);
    if (pipe_from == first) continue;
    GPUEXP_LANE_BY_LANE
    for (std::size_t i = 0; i < count; ++i)
      issued_at[i] = std::max(issued_at[i], to[i] == pipe ? pipe_from : 0);
  }
  for (std::size_t i = 0; any_products != 0 && i < count; ++i) {
    if (to[i] == kProducts)
      issued_at[i] = std::max(issued_at[i], time_of(product_place(*turns.warps[i])));
  }
  Time least = time_of(kNever);
  for (std::size_t i = 0; i < count; ++i)
    least = std::min(least, issued_at[i]);
  return least;
}

// First of the warps that have waited longest, among warps that can issue at `first`.
GPUEXP_VECTORIZED std::size_t longest_waiting(IssueCandidates& turns, Time first) {
  const std::size_t count = turns.warps.size();
  const double* const ready_at = turns.ready_at.data();
  const double* const waits_since = turns.waits_since.data();
  Time* const since = turns.compared.data();
  Time longest = kLast;
  GPUEXP_LANE_BY_LANE
  for (std::size_t i = 0; i < count; ++i) {
    const Time ready = time_of(ready_at[i]);
    const Time waits = time_of(waits_since[i]);
    const Time either = first > ready ? waits : ready;
    since[i] = since[i] == first ? either : kLast;
  }
  for (std::size_t i = 0; i < count; ++i)
    longest = std::min(longest, since[i]);
  std::size_t chosen = 0;
  while (since[chosen] != longest)
    ++chosen;
  return chosen;
}

}  // namespace

// Warps of a block progress equally, as stalls at barriers on an H200 show. Among warps that waited
// for their pipe or queue, the warp that has waited longest issues next.
void choose(Scheduler& scheduler) {
  scheduler.is_changed = false;
  scheduler.choice = {};
  const std::array<double, kIssuedTo> from = earliest_issue_times(scheduler);
  if (scheduler.last && earliest_issue(*scheduler.last, from) <= scheduler.free_at) {
    scheduler.choice = {scheduler.last, scheduler.free_at};
    return;
  }
  IssueCandidates& turns = scheduler.turns;
  const Time first = find_issue_times(turns, from, scheduler.free_at);
  const double when = std::bit_cast<double>(first);
  if (when == kNever) return;
  const bool stays = scheduler.last && turns.compared[scheduler.last->candidate_index] == first;
  scheduler.choice = {stays ? scheduler.last : turns.warps[longest_waiting(turns, first)], when};
}

}  // namespace gpuexp
