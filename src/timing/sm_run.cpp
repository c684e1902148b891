#include "timing/sm_run.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "device/hardware_sizes.hpp"
#include "sim/cluster.hpp"
#include "sim/grid_run.hpp"
#include "timing/warp_choice.hpp"

namespace gpuexp {

namespace {

/// Minimum number of waves to execute; one fewer if waves are long.
constexpr std::int64_t kTimedWaves = 3;
constexpr std::uint64_t kEnoughInstructions = 100'000;

}  // namespace

SmRun::SmRun(const sim::LaunchState& launch, const Schedule& schedule,
             const SmParameters& parameters, const BlocksOfSm& blocks,
             const std::function<bool()>& stop)
    : launch_(launch),
      schedule_(schedule),
      parameters_(parameters),
      blocks_(blocks),
      stop_(stop),
      requested_(parameters.behind.l2_sectors * static_cast<double>(launch.cluster.count())),
      access_(parameters),
      waits_(launch, schedule, access_.phases, time_.places),
      steady_(schedule) {
  time_.places.resize(launch.program->ops.size());
  time_.lookups.resize(launch.program->ops.size());
  for (std::int64_t i = 0; i < launch.cluster.count(); ++i)
    sms_.push_back(
        std::make_unique<Sm>(parameters, requested_, blocks.draws + static_cast<std::uint64_t>(i)));
  // The executed waves represent all waves, most of which start with a full L1.
  if (blocks.count > kTimedWaves * blocks.resident) {
    for (const auto& sm : sms_)
      sm->memory.fill_l1_with_others();
  }
}

SmTime SmRun::run() {
  for (int i = 0; i < blocks_.resident; ++i)
    start_cluster(0);
  constexpr std::uint64_t kStopCheckInterval = 1 << 16;
  constexpr std::uint64_t kEvenCheckInterval = 1 << 12;
  while (!resident_.empty()) {
    if (time_.instructions % kStopCheckInterval == 0 && stop_())
      throw sim::Stopped("the run was ended");
    issue_next();
    if (blocks_.stops_if_uneven && blocks_ended_ > 0 && time_.instructions >= next_even_check_) {
      next_even_check_ = time_.instructions + kEvenCheckInterval;
      if (found_uneven()) break;
    }
    if (time_.instructions >= steady_.window_end() && !blocks_.times_all) end_window();
  }
  for (const auto& sm : sms_) {
    sm->memory.finish();
    time_.clocks = std::max(time_.clocks, whole(sm->memory.last()));
  }
  static_cast<SmSums&>(time_) = sums();
  time_.busy[SmPart::issue] =
      static_cast<double>(time_.instructions) / kSchedulers / static_cast<double>(sms_.size());
  return std::move(time_);
}

// Whether enough blocks have started. Three waves are needed: the first fills queues and caches,
// the next two show a wave's time. Short waves need more waves, to fill the queues; two long waves
// suffice.
bool SmRun::has_enough() const {
  constexpr std::uint64_t kLongInstructions = 2'000'000;
  const std::int64_t min_waves =
      time_.instructions >= kLongInstructions ? kTimedWaves - 1 : kTimedWaves;
  const std::int64_t left = blocks_.count - next_block_;
  return left == 0 || (next_block_ >= min_waves * blocks_.resident &&
                       left % blocks_.resident == 0 && time_.instructions >= kEnoughInstructions);
}

// Whether blocks, ended or running, differ too much to represent the blocks that will not be
// executed.
bool SmRun::found_uneven() {
  const std::int64_t least = std::max<std::int64_t>(next_block_, kTimedWaves * blocks_.resident);
  if (time_.instructions < kEnoughInstructions || least >= blocks_.count) return false;
  if (least + (blocks_.count - least) % blocks_.resident >= blocks_.count) return false;
  const std::uint64_t most = time_.max_instructions;
  for (const auto& cluster : resident_)
    time_.max_instructions = std::max(time_.max_instructions, cluster->instructions);
  if (!time_.is_even()) return true;
  time_.max_instructions = most;
  return false;
}

SmSums SmRun::sums() const {
  SmSums sums = time_;
  for (const auto& sm : sms_) {
    sums.l2_reads += sm->memory.l2_reads();
    sums.l2_writes += sm->memory.l2_writes();
    sums.repeats += sm->memory.repeats();
  }
  add_busy(sums.busy);
  return sums;
}

// Averages cycles of pipes over four schedulers, and all cycles over the SMs of a cluster.
void SmRun::add_busy(SmBusy& busy) const {
  const auto sms = static_cast<double>(sms_.size());
  const auto of = [&](IssuedTo to) { return pipe_clocks_[static_cast<std::size_t>(to)]; };
  SmBusy more;
  more[SmPart::fma] = (of(IssuedTo::fma) + of(IssuedTo::fma_heavy)) / (2 * kSchedulers);
  more[SmPart::alu] = of(IssuedTo::alu) / kSchedulers;
  more[SmPart::fp64] = of(IssuedTo::fp64) / kSchedulers;
  more[SmPart::xu] = of(IssuedTo::xu) / kSchedulers;
  more[SmPart::tensor] = of(IssuedTo::tensor) / kSchedulers;
  for (const auto& sm : sms_) {
    more[SmPart::tensor] += sm->matrix.multiply.busy();
    sm->memory.add_to(more);
  }
  for (std::size_t i = 0; i < kSmParts; ++i)
    busy.of[i] += more.of[i] / sms;
}

std::size_t SmRun::free_place() const {
  std::size_t place = 0;
  while (std::any_of(resident_.begin(), resident_.end(),
                     [&](const auto& r) { return r->place == place; }))
    ++place;
  return place;
}

void SmRun::start_cluster(double when) {
  if (has_enough()) return;
  const Extent& size = launch_.cluster;
  const Extent all{launch_.grid.x / size.x, launch_.grid.y / size.y, launch_.grid.z / size.z};
  const std::int64_t at = std::min(blocks_.number(next_block_++), all.count() - 1);
  // One distributor serves all SMs. This SM's blocks may start back to back, but on average the SM
  // gets only its share of starts.
  when = std::max(when,
                  static_cast<double>(time_.starts.size()) * parameters_.block_interval - skipped_);
  time_.starts.push_back(whole(when));
  auto resident = std::make_unique<ResidentCluster>();
  resident->cluster = std::make_unique<sim::Cluster>(launch_, sim::place_at(all, at));
  resident->number = time_.starts.size();
  resident->place = free_place();
  resident->start = whole(when);
  ResidentCluster& cluster = *resident_.emplace_back(std::move(resident));
  for (std::size_t rank = 0; rank < sms_.size(); ++rank)
    add_block(cluster, rank, when);
}

void SmRun::add_block(ResidentCluster& cluster, std::size_t rank, double when) {
  ResidentBlock& block = *cluster.blocks.emplace_back(std::make_unique<ResidentBlock>());
  block.block = cluster.cluster->block(rank);
  block.sm = sms_[rank].get();
  block.cluster = &cluster;
  block.block->set_listener(&access_);
  const std::size_t warps = block.block->warps().size();
  for (std::size_t i = 0; i < warps / WarpgroupProducts::kWarps; ++i)
    block.products.emplace_back(parameters_);
  for (const auto& warp : block.block->warps()) {
    auto w = std::make_unique<ResidentWarp>();
    w->block = &block;
    w->warp = warp.get();
    w->place = cluster.place * warps + warp->index;
    const std::size_t group = warp->index / WarpgroupProducts::kWarps;
    if (group < block.products.size()) w->warpgroup = &block.products[group];
    w->free_from = w->waits_from = w->resumed_at = when;
    Scheduler& scheduler = block.sm->schedulers[block.sm->next_scheduler++ % kSchedulers];
    scheduler.add(*w);
    scheduler.is_changed = true;
    waits_.find_ready(*w);
    block.warps.push_back(std::move(w));
  }
  cluster.left += warps;
}

void SmRun::end_warp(ResidentCluster& cluster, double now) {
  if (--cluster.left > 0) return;
  double longest = 0;
  for (const auto& block : cluster.blocks) {
    for (const auto& warp : block->warps)
      longest = std::max(longest, warp->alone);
    access_.phases.forget(*block->block);
  }
  time_.busy[SmPart::latency] += longest / blocks_.resident;
  time_.min_instructions = std::min(time_.min_instructions, cluster.instructions);
  time_.max_instructions = std::max(time_.max_instructions, cluster.instructions);
  time_.block_clocks += (whole(now) - cluster.start) * static_cast<double>(cluster.blocks.size());
  for (const auto& sm : sms_) {
    for (Scheduler& scheduler : sm->schedulers) {
      const auto is_in_cluster = [&](const ResidentWarp& w) {
        return w.block->cluster == &cluster;
      };
      scheduler.is_changed = true;
      if (scheduler.last && is_in_cluster(*scheduler.last)) scheduler.last = nullptr;
      scheduler.drop_if(is_in_cluster);
    }
  }
  std::erase_if(resident_, [&](const auto& r) { return r.get() == &cluster; });
  time_.clocks = std::max(time_.clocks, whole(now));
  ++blocks_ended_;
  start_cluster(now + parameters_.block_gap);
}

SmProgress SmRun::progress() const {
  SmProgress progress{time_.instructions, time_.starts.size() + blocks_ended_, whole(now_), 0,
                      sums()};
  for (const auto& cluster : resident_) {
    for (const auto& block : cluster->blocks) {
      for (const auto& warp : block->warps)
        progress.alone += warp->alone;
    }
  }
  return progress;
}

void SmRun::end_window() {
  std::size_t warps = 0;
  for (const auto& cluster : resident_)
    warps += cluster->left;
  if (!steady_.end_window(progress(), warps)) return;
  fast_forward(warps);
  steady_.restart(progress());
}

// Skips loop iterations until a warp is in its last iteration. A skipped instruction counts as long
// as the mean instruction of the last two windows. Scoreboards stay set: a warp at the same
// position waits for the same results.
void SmRun::fast_forward(std::size_t warps) {
  const auto set_listeners = [&](sim::AccessListener* listener) {
    for (const auto& cluster : resident_) {
      for (const auto& block : cluster->blocks)
        block->block->set_listener(listener);
    }
  };
  const SmProgress& begin = steady_.begin();
  const SmProgress& end = steady_.end();
  const std::vector<bool> places = steady_.places();
  const std::uint64_t timed = end.instructions - begin.instructions;
  std::uint64_t skipped = 0;
  set_listeners(nullptr);
  for (SkippedIterations iterations; !iterations.are_last; skipped += iterations.instructions) {
    if (stop_()) throw sim::Stopped("the run was ended");
    iterations = execute_iterations(resident_, schedule_, places, timed / 2 / warps,
                                    (end.alone - begin.alone) / static_cast<double>(timed));
  }
  set_listeners(&access_);
  time_.instructions += skipped;
  time_.untimed += skipped;
  const double times = static_cast<double>(skipped) / static_cast<double>(timed);
  time_.add(begin.sums, end.sums, times);
  skipped_ += times * (end.clock - begin.clock);
  resume_after_iterations();
}

// Warps at their previous position wait as before. Other warps compute their waits again.
void SmRun::resume_after_iterations() {
  for (const auto& cluster : resident_) {
    for (const auto& block : cluster->blocks) {
      for (const auto& warp : block->warps) {
        const sim::Divergence& at = warp->warp->divergence;
        if (at.next() == warp->next && at.is_running() != warp->at_barrier) continue;
        warp->at_barrier = !at.is_running() && !at.has_exited();
        if (at.is_running())
          waits_.find_ready(*warp);
        else
          warp->turn().ready_at = kNever;
      }
    }
    invalidate_choices(*cluster);
  }
}

void SmRun::take_pipe(Scheduler& scheduler, const TimedOp& op, double now) {
  const auto take = [&](IssuedTo to, double clocks) {
    const auto pipe = static_cast<std::size_t>(to);
    scheduler.pipe_free[pipe] = now + clocks;
    pipe_clocks_[pipe] += clocks;
  };
  const auto is_free = [&](IssuedTo to) {
    return scheduler.pipe_free[static_cast<std::size_t>(to)] <= now;
  };
  switch (op.to) {
    // fp32 instructions use the FMA half that is free.
    case IssuedTo::fma:
      return take(is_free(IssuedTo::fma) ? IssuedTo::fma : IssuedTo::fma_heavy, op.pipe_clocks);
    case IssuedTo::fma_wide:
      take(IssuedTo::alu, op.pipe_clocks / 2);
      return take(IssuedTo::fma_heavy, op.pipe_clocks);
    case IssuedTo::fma_both:
      take(IssuedTo::fma, op.pipe_clocks);
      return take(IssuedTo::fma_heavy, op.pipe_clocks);
    default: return take(op.to, op.pipe_clocks);
  }
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

void SmRun::record_states(const ResidentWarp& warp, const Scheduler& scheduler, double now) {
  const TimedOp& op = schedule_.ops[warp.next];
  WarpClocks& clocks = time_.places[warp.next];
  clocks[WarpState::wait] += std::max(0.0, warp.free_from - warp.waits_from);
  const double ready = std::max(warp.turn().ready_at, warp.free_from);
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
  if (now > scheduler.free_at) scheduler.gaps.push_back({scheduler.free_at, now});
  if (scheduler.gaps.size() > kGapsKept) scheduler.gaps.pop_front();
  record_states(warp, scheduler, now);
  scheduler.is_changed = true;
  const TimedOp& op = schedule_.ops[warp.next];
  while (!scheduler.queue.empty() && scheduler.queue.front() <= now)
    scheduler.queue.pop_front();
  take_pipe(scheduler, op, now);
  const bool stayed = scheduler.issued_last == &warp;
  scheduler.issued_last = &warp;
  const double delay =
      scheduler.ports.read(stayed ? op.reads.after_own : op.reads.after_other, now);
  time_.places[warp.next][WarpState::dispatch_stall] += delay;
  scheduler.free_at = now + 1 + delay;
  scheduler.last = op.control.stays ? &warp : nullptr;
  warp.waits_from = now + 1;
  const double stall = std::max(1u, op.control.stall);
  warp.free_from = now + stall;
  warp.alone += stall;
  if (waits_.awaits_phase(warp, op)) {
    warp.awaits_phase = true;
    warp.turn().ready_at = kNever;
    return;
  }
  const double taken = step(warp, now);
  if (op.to == IssuedTo::memory) scheduler.queue.push_back(taken);
}

double SmRun::step(ResidentWarp& warp, double now) {
  const TimedOp& op = schedule_.ops[warp.next];
  ResidentCluster& cluster = *warp.block->cluster;
  access_.begin(warp, op, now);
  warp.block->sm->memory.set_warp(cluster.number, warp.place);
  const double reads = warp.block->sm->memory.l2_reads();
  const sim::Executed executed = warp.block->block->step(*warp.warp);
  ++time_.instructions;
  ++cluster.instructions;
  const Served served = access_.end(executed.lanes != 0);
  time_.lookups[executed.place] += warp.block->sm->memory.take_lookups();
  warp.block->has_requested =
      warp.block->has_requested || warp.block->sm->memory.l2_reads() > reads;
  waits_.set_scoreboards(warp, op, served);
  if (!warp.warp->divergence.is_running()) {
    warp.turn().ready_at = kNever;
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

SmTime time_on_sm(const sim::LaunchState& launch, const Schedule& schedule,
                  const SmParameters& parameters, const BlocksOfSm& blocks,
                  const std::function<bool()>& stop) {
  return SmRun(launch, schedule, parameters, blocks, stop).run();
}

}  // namespace gpuexp
