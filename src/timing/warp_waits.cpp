#include "timing/warp_waits.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/mbarrier_ops.hpp"

namespace gpuexp {

namespace {

// Completion of the awaited products; empty if other warps have not started all of them.
std::optional<Release> products_done(const ResidentWarp& warp, const TimedOp& op) {
  if (!warp.warpgroup) return Release{};
  if (op.kind == TimedOp::Kind::products_order) return warp.warpgroup->complete(warp.products);
  const std::size_t left = std::min<std::size_t>(op.left, warp.product_groups);
  return warp.warpgroup->groups_complete(warp.product_groups - left);
}

}  // namespace

// Nsight Compute counts waits for groups of products as barrier waits.
void WarpWaits::find_ready(ResidentWarp& warp) {
  using Kind = TimedOp::Kind;
  warp.next = warp.warp->divergence.next();
  // Executing an instruction past the kernel's end throws the fault.
  if (warp.next >= schedule_.ops.size()) warp.block->block->step(*warp.warp);
  const TimedOp& op = schedule_.ops[warp.next];
  const Turn turn = warp.turn();
  turn.to = static_cast<std::uint64_t>(op.to);
  turn.ready_at = warp.free_from;
  warp.waits_in = WarpState::wait;
  warp.awaits_products = false;
  double alone = warp.free_from;
  const auto wait_until = [&](const Release& release, WarpState state) {
    const double when = std::ceil(release.when);
    alone = std::max(alone, std::min(release.alone, when));
    if (when <= turn.ready_at) return;
    turn.ready_at = when;
    warp.waits_in = state;
  };
  const auto wait_for = [&](Scoreboard& scoreboard, std::size_t left) {
    scoreboard.forget_before(warp.free_from);
    wait_until(scoreboard.when_left(left), scoreboard.wait);
  };
  for (unsigned i = 0; i < kScoreboards; ++i) {
    if ((op.control.waits >> i & 1) != 0) wait_for(warp.scoreboards[i], 0);
  }
  if (op.kind == Kind::depends && op.scoreboard < kScoreboards)
    wait_for(warp.scoreboards[op.scoreboard], op.left);
  if (op.kind == Kind::products_order || op.kind == Kind::products_wait) {
    const auto done = products_done(warp, op);
    const bool orders = op.kind == Kind::products_order;
    warp.awaits_products = !done;
    if (done) wait_until(*done, orders ? WarpState::gmma : WarpState::barrier);
  }
  if (turn.ready_at > warp.free_from) warp.resumed_at = turn.ready_at;
  // On an H200, a warp tends to issue consecutive loads before other warps issue theirs
  // (docs/prediction.md, "Warp selection").
  turn.waits_since = op.kind == Kind::global ? warp.resumed_at : turn.ready_at;
  if (warp.awaits_products)
    turn.ready_at = kNever;
  else
    warp.alone += alone - warp.free_from;
}

void WarpWaits::hold(ResidentWarp& warp, double until, WarpState state) {
  const double from = warp.free_from;
  warp.free_from = std::max(from, until);
  if (until > from) warp.resumed_at = until;
  find_ready(warp);
  places_[warp.next][state] += warp.free_from - from;
  warp.waits_from += warp.free_from - from;
}

void WarpWaits::set_scoreboards(ResidentWarp& warp, const TimedOp& op, const Served& served) {
  if (op.copies) {
    warp.copies = {std::max(warp.copies.when, served.done),
                   std::max(warp.copies.alone, served.alone)};
  }
  const auto set = [&](unsigned scoreboard, const Release& release) {
    if (scoreboard < kScoreboards) warp.scoreboards[scoreboard].set(release, op.result_wait);
  };
  set(op.control.writes,
      op.kind == TimedOp::Kind::commit ? warp.copies : Release{served.done, served.alone});
  set(op.control.reads,
      op.kind == TimedOp::Kind::bulk_commit ? warp.moves : Release{served.taken, 0});
}

// mbarrier.test_wait does not suspend the warp. Faults are reported by the execution, which knows
// their location.
bool WarpWaits::awaits_phase(ResidentWarp& warp, const TimedOp& op) const {
  if (op.kind != TimedOp::Kind::phase_check) return false;
  const sim::Block& block = *warp.block->block;
  sim::AwaitedPhases awaited;
  try {
    awaited = sim::awaited_phases(*warp.warp, launch_.executed_ops()[warp.next],
                                  block.lanes_of_next(*warp.warp));
  } catch (const sim::Fault&) {
    return false;
  }
  // A warp with other ready lanes does not sleep, because these lanes may end the phase.
  if (op.suspends && !awaited.have_ended && !warp.warp->divergence.has_others()) return true;
  warp.phase_ended = {};
  if (!awaited.have_ended) return false;
  for (const std::uint64_t offset : awaited.offsets) {
    const Release ended = phases_.ended_at(block, offset);
    warp.phase_ended = {std::max(warp.phase_ended.when, ended.when),
                        std::max(warp.phase_ended.alone, ended.alone)};
  }
  return false;
}

}  // namespace gpuexp
