#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "timing/sm_run.hpp"

namespace gpuexp {

namespace {

/// Instructions that a scheduler has in the queue of the memory units at most.
constexpr std::size_t kQueueLength = 8;

/// Two numbers, the higher one first.
__extension__ using Key = unsigned __int128;

}  // namespace

// When the scheduler could issue to each pipe; to that of warpgroups, it depends on the warp.
std::array<double, kIssuedTo> SmRun::could_issue_to(const Scheduler& scheduler) const {
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

void SmRun::take_pipe(Scheduler& scheduler, const TimedOp& op, double now) {
  auto to = static_cast<std::size_t>(op.to);
  // The half that is free; integers need the other one.
  if (op.to == IssuedTo::fma && scheduler.pipe_free[to] > now)
    to = static_cast<std::size_t>(IssuedTo::fma_heavy);
  scheduler.pipe_free[to] = now + op.pipe_clocks;
  pipe_clocks_[to] += op.pipe_clocks;
}

// Of the warps whose next instruction can be issued first; the last one where it can stay, else the
// one that is ready longest: all of a block get on alike, as the waits at barriers of an H200 show.
void SmRun::choose(Scheduler& scheduler) const {
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
  // Most of the time that a launch takes to be executed clock by clock is spent here. Which warp is
  // next no host could predict: a key of two times, whose bits are in their order since they are
  // not negative, needs no branch.
  Key first = ~Key{0};
  const Turn* chosen = nullptr;
  for (const Turn& turn : scheduler.turns) {
    const std::uint64_t rank =
        turn.warp == scheduler.last ? 0 : 1 + std::bit_cast<std::uint64_t>(turn.ready_at);
    const Key key = Key{std::bit_cast<std::uint64_t>(could_issue(turn))} << 64 | rank;
    chosen = key < first ? &turn : chosen;
    first = key < first ? key : first;
  }
  const double when = std::bit_cast<double>(static_cast<std::uint64_t>(first >> 64));
  scheduler.choice = chosen && when != kNever ? Choice{chosen->warp, when} : Choice{};
}

void SmRun::issue_next() {
  Scheduler* first = nullptr;
  for (const auto& sm : sms_) {
    for (Scheduler& scheduler : sm->schedulers) {
      if (scheduler.is_changed) choose(scheduler);
      if (!scheduler.choice.warp) continue;
      if (first && scheduler.choice.when >= first->choice.when) continue;
      first = &scheduler;
    }
  }
  if (!first) return time_out();
  issue(*first, *first->choice.warp, std::ceil(first->choice.when));
}

void SmRun::note_states(const ResidentWarp& warp, const Scheduler& scheduler, double now) {
  const TimedOp& op = schedule_.ops[warp.next];
  WarpClocks& clocks = time_.places[warp.next];
  clocks[WarpState::wait] += std::max(0.0, warp.free_from - warp.waits_from);
  const double ready = std::max(warp.turn->ready_at, warp.free_from);
  clocks[warp.waits_in] += ready - std::max(warp.free_from, warp.waits_from);
  const double idle = scheduler.idle_since(ready);
  const WarpState throttle = op.kind == TimedOp::Kind::global ? WarpState::lg_throttle
                             : op.to == IssuedTo::memory || op.kind == TimedOp::Kind::product
                                 ? WarpState::mio_throttle
                                 : WarpState::math_pipe_throttle;
  clocks[throttle] += idle;
  clocks[WarpState::not_selected] += std::max(0.0, now - ready - idle);
  clocks[WarpState::selected] += 1;
}

void SmRun::issue(Scheduler& scheduler, ResidentWarp& warp, double now) {
  constexpr std::size_t kGapsKept = 1024;
  now_ = std::max(now_, now);
  if (now > scheduler.free_at) scheduler.gaps.emplace_back(scheduler.free_at, now);
  if (scheduler.gaps.size() > kGapsKept) scheduler.gaps.pop_front();
  note_states(warp, scheduler, now);
  scheduler.is_changed = true;
  const TimedOp& op = schedule_.ops[warp.next];
  while (!scheduler.queue.empty() && scheduler.queue.front() <= now)
    scheduler.queue.pop_front();
  take_pipe(scheduler, op, now);
  scheduler.free_at = now + 1 + op.operand_clocks;
  scheduler.last = op.control.stays ? &warp : nullptr;
  warp.waits_from = now + 1;
  const double stall = std::max(1u, op.control.stall);
  warp.free_from = now + stall;
  warp.alone += stall;
  if (waits_.awaits_phase(warp, op)) {
    warp.awaits_phase = true;
    warp.turn->ready_at = kNever;
    return;
  }
  const double taken = step(warp, now);
  if (op.to == IssuedTo::memory) scheduler.queue.push_back(taken);
}

// Executes the instruction that the warp has issued, and finds when its next one can be.
double SmRun::step(ResidentWarp& warp, double now) {
  const TimedOp& op = schedule_.ops[warp.next];
  ResidentCluster& cluster = *warp.block->cluster;
  access_.begin(warp, op, now);
  warp.block->sm->memory.set_block(cluster.number);
  const double reads = warp.block->sm->memory.l2_reads();
  const sim::Executed executed = warp.block->block->step(*warp.warp);
  ++time_.instructions;
  ++cluster.instructions;
  time_.places[executed.place][WarpState::dispatch_stall] += op.operand_clocks;
  const Served served = access_.end(executed.lanes != 0);
  time_.lookups[executed.place] += warp.block->sm->memory.take_lookups();
  warp.block->has_asked = warp.block->has_asked || warp.block->sm->memory.l2_reads() > reads;
  waits_.set_scoreboards(warp, op, served);
  if (!warp.warp->divergence.is_running()) {
    warp.turn->ready_at = kNever;
    warp.at_barrier = !warp.warp->divergence.has_exited();
  } else if (access_.running.holds_until > warp.free_from) {
    waits_.hold(warp, access_.running.holds_until, access_.running.holds_in);
  } else {
    waits_.find_ready(warp);
  }
  const bool has_ended_phase = access_.running.has_ended_phase;
  if (has_ended_phase) timed_out_ = 0;
  if (op.may_end_barrier || !warp.warp->divergence.is_running()) release_barriers(cluster, now);
  if (has_ended_phase || op.kind == TimedOp::Kind::product) wake(cluster, now);
  if (warp.warp->divergence.has_exited()) end_warp(cluster, now + 1);
  return served.taken;
}

// Warps whose phases have ended, or whose products have been started by the other warps, go on.
void SmRun::wake(ResidentCluster& cluster, double now) {
  for (const auto& block : cluster.blocks) {
    for (const auto& warp : block->warps) {
      if (warp->awaits_products) {
        waits_.find_ready(*warp);
      } else if (warp->awaits_phase && !waits_.awaits_phase(*warp, schedule_.ops[warp->next])) {
        warp->awaits_phase = false;
        step(*warp, now);
      }
    }
  }
  schedule_anew(cluster);
}

void SmRun::schedule_anew(ResidentCluster& cluster) {
  for (const auto& block : cluster.blocks) {
    for (Scheduler& scheduler : block->sm->schedulers)
      scheduler.is_changed = true;
  }
}

// All warps sleep. The hardware lets those that try a phase go on after a while, without: they may
// do something else. Where they do nothing but try again, nobody ever ends the phase.
void SmRun::time_out() {
  constexpr int kMostInARow = 1 << 12;
  constexpr double kSuspended = 1 << 14;  // not documented; nothing depends on it but such kernels
  ResidentWarp* first = nullptr;
  for (const auto& cluster : resident_) {
    for (const auto& block : cluster->blocks) {
      for (const auto& warp : block->warps) {
        if (warp->awaits_phase && (!first || warp->free_from < first->free_from))
          first = warp.get();
      }
    }
  }
  if (!first) resident_.front()->cluster->report_barrier();
  if (++timed_out_ > kMostInARow) {
    sim::Fault fault(sim::FaultKind::barrier, "warps wait for phases of mbarriers that never end");
    fault.set_place(first->block->block->place, std::nullopt,
                    sim::source_line(*launch_.program, first->next));
    throw fault;
  }
  first->awaits_phase = false;
  first->phase_ended = {};
  first->free_from += kSuspended;
  step(*first, first->free_from);
  schedule_anew(*first->block->cluster);
}

// Those of the cluster that waited and need not any longer.
void SmRun::release_barriers(ResidentCluster& cluster, double now) {
  cluster.cluster->release_barriers();
  const AsyncFigures& async = figures_.async;
  const bool is_clusters = cluster.cluster->barriers_ended() != cluster.barriers_ended;
  if (is_clusters) {
    const std::size_t more = cluster.blocks.front()->warps.size() - 1;
    cluster.barriers_ended = cluster.cluster->barriers_ended();
    cluster.barrier_at =
        now + async.cluster_barrier + async.cluster_barrier_warp * static_cast<double>(more);
  }
  const double block_at = now + figures_.barrier_latency;
  for (const auto& block : cluster.blocks) {
    for (const auto& warp : block->warps) {
      if (!warp->at_barrier || !warp->warp->divergence.is_running()) continue;
      warp->at_barrier = false;
      time_.steps += block->has_asked;
      block->has_asked = false;
      const bool is_own = schedule_.ops[warp->next].kind != TimedOp::Kind::cluster_wait;
      warp->alone += is_own ? figures_.barrier_latency : async.cluster_barrier;
      waits_.hold(*warp, is_own ? block_at : cluster.barrier_at, WarpState::barrier);
    }
  }
  schedule_anew(cluster);
}

}  // namespace gpuexp
