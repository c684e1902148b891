#include "timing/sm_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>

#include "device/hardware_sizes.hpp"
#include "sim/grid_run.hpp"

namespace gpuexp {

namespace {

constexpr auto kSchedulers = static_cast<unsigned>(kSchedulersPerSm);
constexpr unsigned kScoreboards = 6;
constexpr double kNever = std::numeric_limits<double>::infinity();
/// Instructions that a scheduler has in the queue of the memory units at most.
constexpr std::size_t kQueueLength = 8;

/// When a result is there, and when it would be if its warp had the SM for itself.
struct Release {
  double when = 0;
  double alone = 0;
};

/// What the instructions before have left to wait for.
struct Scoreboard {
  std::deque<Release> releases;  ///< in the order of their setting
  WarpState wait = WarpState::short_scoreboard;

  void set(const Release& release, WarpState state) {
    releases.push_back(release);
    wait = state;
  }
  void forget_before(double now) {
    while (!releases.empty() && releases.front().when <= now)
      releases.pop_front();
  }
  /// When no more than `left` are to come.
  Release when_left(std::size_t left) const {
    Release last;
    for (std::size_t i = 0; i + left < releases.size(); ++i) {
      last.when = std::max(last.when, releases[i].when);
      last.alone = std::max(last.alone, releases[i].alone);
    }
    return last;
  }
};

struct ResidentWarp {
  sim::Block* block = nullptr;
  sim::Warp* warp = nullptr;
  std::uint64_t block_number = 0;  ///< among those that were executed
  double free_from = 0;            ///< the stall of its last instruction has ended
  double ready_at = 0;             ///< nothing of its own holds up its next instruction
  double waits_from = 0;           ///< the clock behind its last instruction
  std::uint32_t next = 0;
  WarpState waits_in = WarpState::wait;  ///< from free_from to ready_at
  bool at_barrier = false;
  std::array<Scoreboard, kScoreboards> scoreboards;
  Release copies;    ///< of cp.async, the last
  double alone = 0;  ///< clocks of its instructions so far, if it had the SM for itself
};

/// What a scheduler issues next, and when.
struct Choice {
  ResidentWarp* warp = nullptr;
  double when = kNever;
};

struct Scheduler {
  std::vector<ResidentWarp*> warps;
  double free_at = 0;
  ResidentWarp* last = nullptr;  ///< which it stays with if it can
  Choice choice;
  bool is_changed = true;  ///< since `choice` was made
  std::array<double, kIssuedTo> pipe_free{};
  std::deque<double> queue;  ///< when each place of the memory units' queue gets free
  /// Clocks in which it issued nothing, the last ones: whoever was ready then waited for its pipe.
  std::deque<std::pair<double, double>> gaps;

  double idle_since(double when) const {
    double idle = 0;
    for (auto gap = gaps.rbegin(); gap != gaps.rend() && gap->second > when; ++gap)
      idle += gap->second - std::max(gap->first, when);
    return idle;
  }
};

class SmRun final : private sim::AccessListener {
 public:
  SmRun(const sim::LaunchState& launch, const Schedule& schedule, const SmFigures& figures,
        const BlocksOfSm& blocks, const std::function<bool()>& stop)
      : launch_(launch),
        schedule_(schedule),
        figures_(figures),
        blocks_(blocks),
        stop_(stop),
        memory_(figures) {
    time_.places.resize(launch.program->ops.size());
    time_.lookups.resize(launch.program->ops.size());
  }

  SmTime run() {
    for (int i = 0; i < blocks_.resident; ++i)
      start_block(0);
    constexpr std::uint64_t kAskEvery = 1 << 16;
    while (!resident_.empty()) {
      if (time_.instructions % kAskEvery == 0 && stop_()) throw sim::Stopped("the run was ended");
      issue_next();
    }
    time_.clocks = std::max(time_.clocks, memory_.last());
    time_.l2_reads = memory_.l2_reads();
    time_.l2_writes = memory_.l2_writes();
    add_busy();
    return std::move(time_);
  }

 private:
  struct ResidentBlock {
    std::unique_ptr<sim::Block> block;
    std::vector<std::unique_ptr<ResidentWarp>> warps;
    std::size_t left = 0;  ///< warps that have not exited
    double start = 0;
  };
  bool has_enough() const;
  void add_busy();
  void start_block(double when);
  void end_block(sim::Block* block, double now);
  void choose(Scheduler& scheduler) const;
  void issue_next();
  void issue(Scheduler& scheduler, ResidentWarp& warp, double now);
  void note_states(const ResidentWarp& warp, const Scheduler& scheduler, double now);
  double pipe_free(const Scheduler& scheduler, const TimedOp& op) const;
  void take_pipe(Scheduler& scheduler, const TimedOp& op, double now);
  void find_ready(ResidentWarp& warp);
  void release_barriers(ResidentWarp& warp, double now);
  void hear(const sim::MemoryAccess& access) override;
  Served execute(ResidentWarp& warp, const TimedOp& op, double now);
  static void set_scoreboards(ResidentWarp& warp, const TimedOp& op, const Served& served);

  const sim::LaunchState& launch_;
  const Schedule& schedule_;
  const SmFigures& figures_;
  const BlocksOfSm& blocks_;
  const std::function<bool()>& stop_;
  MemoryPath memory_;
  std::array<Scheduler, kSchedulers> schedulers_;
  std::vector<ResidentBlock> resident_;
  std::vector<bool> has_asked_;  ///< by number of a block: L2, since its last barrier
  std::int64_t next_block_ = 0;
  unsigned next_scheduler_ = 0;
  std::array<double, kIssuedTo> pipe_clocks_{};  ///< of all four
  SmTime time_;
  // What the instruction that is executed has asked for.
  double hear_at_ = 0;
  bool passes_l1_ = false;
  bool heard_ = false;
  Served heard_served_;
};

// Three waves at least: the first fills queues and caches, and the two behind it say how long a
// wave takes. Short ones need more of them until their queues are full, and of long ones the first
// takes hardly longer than others.
bool SmRun::has_enough() const {
  constexpr std::uint64_t kEnoughInstructions = 200'000;
  constexpr std::uint64_t kLongInstructions = 2'000'000;
  const std::int64_t least_waves = time_.instructions >= kLongInstructions ? 2 : 3;
  const std::int64_t left = blocks_.count - next_block_;
  return left == 0 || (next_block_ >= least_waves * blocks_.resident &&
                       left % blocks_.resident == 0 && time_.instructions >= kEnoughInstructions);
}

// What is a quarter's is the SM's where all four work.
void SmRun::add_busy() {
  SmBusy& busy = time_.busy;
  const auto of = [&](IssuedTo to) { return pipe_clocks_[static_cast<std::size_t>(to)]; };
  busy[SmPart::issue] = static_cast<double>(time_.instructions) / kSchedulers;
  busy[SmPart::fma] = (of(IssuedTo::fma) + of(IssuedTo::fma_heavy)) / (2 * kSchedulers);
  busy[SmPart::alu] = of(IssuedTo::alu) / kSchedulers;
  busy[SmPart::fp64] = of(IssuedTo::fp64) / kSchedulers;
  busy[SmPart::xu] = of(IssuedTo::xu) / kSchedulers;
  busy[SmPart::tensor] = of(IssuedTo::tensor) / kSchedulers;
  busy[SmPart::latency] /= blocks_.resident;
  memory_.add_to(busy);
}

void SmRun::start_block(double when) {
  if (has_enough()) return;
  const Extent& grid = launch_.grid;
  const std::int64_t at = std::min(blocks_.first + next_block_++ * blocks_.step, grid.count() - 1);
  // One distributor serves all SMs: this one's starts may follow each other at once, but there are
  // not more of them than its share.
  when = std::max(when, static_cast<double>(time_.starts.size()) * figures_.block_interval);
  time_.starts.push_back(when);
  has_asked_.push_back(false);
  ResidentBlock resident;
  resident.start = when;
  resident.block = std::make_unique<sim::Block>(
      launch_, Extent{at % grid.x, at / grid.x % grid.y, at / (grid.x * grid.y)});
  resident.block->set_listener(this);
  for (const auto& warp : resident.block->warps()) {
    auto w = std::make_unique<ResidentWarp>();
    w->block = resident.block.get();
    w->warp = warp.get();
    w->block_number = time_.starts.size() - 1;
    w->free_from = w->ready_at = w->waits_from = when;
    Scheduler& scheduler = schedulers_[next_scheduler_++ % kSchedulers];
    scheduler.warps.push_back(w.get());
    scheduler.is_changed = true;
    resident.warps.push_back(std::move(w));
  }
  resident.left = resident.warps.size();
  resident_.push_back(std::move(resident));
}

void SmRun::end_block(sim::Block* block, double now) {
  const auto at = std::find_if(resident_.begin(), resident_.end(),
                               [&](const auto& r) { return r.block.get() == block; });
  if (--at->left > 0) return;
  double longest = 0;
  for (const auto& warp : at->warps)
    longest = std::max(longest, warp->alone);
  time_.busy[SmPart::latency] += longest;
  time_.block_clocks += now - at->start;
  for (Scheduler& scheduler : schedulers_) {
    scheduler.is_changed = true;
    std::erase_if(scheduler.warps, [&](const ResidentWarp* w) { return w->block == block; });
    if (scheduler.last && scheduler.last->block == block) scheduler.last = nullptr;
  }
  resident_.erase(at);
  time_.clocks = std::max(time_.clocks, now);
  start_block(now + figures_.block_gap);
}

double SmRun::pipe_free(const Scheduler& scheduler, const TimedOp& op) const {
  const auto at = [&](IssuedTo to) { return scheduler.pipe_free[static_cast<std::size_t>(to)]; };
  switch (op.to) {
    case IssuedTo::none: return 0;
    case IssuedTo::fma: return std::min(at(IssuedTo::fma), at(IssuedTo::fma_heavy));
    case IssuedTo::memory:
      return scheduler.queue.size() < kQueueLength
                 ? 0
                 : scheduler.queue[scheduler.queue.size() - kQueueLength];
    default: return at(op.to);
  }
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
  Choice choice;
  for (ResidentWarp* const warp : scheduler.warps) {
    if (warp->ready_at == kNever || warp->ready_at > choice.when) continue;
    const double when = std::max(
        {warp->ready_at, scheduler.free_at, pipe_free(scheduler, schedule_.ops[warp->next])});
    const bool is_sooner =
        when < choice.when || (when == choice.when && choice.warp != scheduler.last &&
                               (warp == scheduler.last || warp->ready_at < choice.warp->ready_at));
    if (is_sooner) choice = {warp, when};
  }
  scheduler.choice = choice;
  scheduler.is_changed = false;
}

void SmRun::issue_next() {
  Scheduler* first = nullptr;
  for (Scheduler& scheduler : schedulers_) {
    if (scheduler.is_changed) choose(scheduler);
    if (!scheduler.choice.warp) continue;
    if (!first || scheduler.choice.when < first->choice.when) first = &scheduler;
  }
  if (!first) resident_.front().block->report_barrier();
  issue(*first, *first->choice.warp, std::ceil(first->choice.when));
}

void SmRun::note_states(const ResidentWarp& warp, const Scheduler& scheduler, double now) {
  const TimedOp& op = schedule_.ops[warp.next];
  WarpClocks& clocks = time_.places[warp.next];
  clocks[WarpState::wait] += std::max(0.0, warp.free_from - warp.waits_from);
  const double ready = std::max(warp.ready_at, warp.free_from);
  clocks[warp.waits_in] += ready - std::max(warp.free_from, warp.waits_from);
  const double idle = scheduler.idle_since(ready);
  const WarpState throttle = op.kind == TimedOp::Kind::global ? WarpState::lg_throttle
                             : op.to == IssuedTo::memory      ? WarpState::mio_throttle
                                                              : WarpState::math_pipe_throttle;
  clocks[throttle] += idle;
  clocks[WarpState::not_selected] += std::max(0.0, now - ready - idle);
  clocks[WarpState::selected] += 1;
}

void SmRun::issue(Scheduler& scheduler, ResidentWarp& warp, double now) {
  constexpr std::size_t kGapsKept = 1024;
  if (now > scheduler.free_at) scheduler.gaps.emplace_back(scheduler.free_at, now);
  if (scheduler.gaps.size() > kGapsKept) scheduler.gaps.pop_front();
  note_states(warp, scheduler, now);
  scheduler.is_changed = true;
  const TimedOp& op = schedule_.ops[warp.next];
  while (!scheduler.queue.empty() && scheduler.queue.front() <= now)
    scheduler.queue.pop_front();
  take_pipe(scheduler, op, now);
  const Served served = execute(warp, op, now);
  if (op.to == IssuedTo::memory) scheduler.queue.push_back(served.taken);
  set_scoreboards(warp, op, served);
  scheduler.free_at = now + 1 + op.operand_clocks;
  scheduler.last = op.control.stays ? &warp : nullptr;
  warp.waits_from = now + 1;
  const double stall = std::max(1u, op.control.stall);
  warp.free_from = now + stall;
  warp.alone += stall;
  if (warp.warp->divergence.is_running()) return find_ready(warp);
  warp.ready_at = kNever;
  warp.at_barrier = !warp.warp->divergence.has_exited();
  release_barriers(warp, now);
  if (!warp.at_barrier && warp.warp->divergence.has_exited()) end_block(warp.block, now + 1);
}

Served SmRun::execute(ResidentWarp& warp, const TimedOp& op, double now) {
  heard_ = false;
  hear_at_ = now;
  passes_l1_ = op.passes_l1;
  memory_.set_block(warp.block_number);
  const double reads = memory_.l2_reads();
  const sim::Executed executed = warp.block->step(*warp.warp);
  if (memory_.l2_reads() > reads) has_asked_[warp.block_number] = true;
  ++time_.instructions;
  time_.places[executed.place][WarpState::dispatch_stall] += op.operand_clocks;
  if (executed.lanes == 0) return {now, now, now};
  if (heard_) {
    time_.lookups[executed.place] += memory_.take_lookups();
    return heard_served_;
  }
  // Exchanges between lanes take a wavefront of the data stage, as they take its crossbar.
  if (op.kind == TimedOp::Kind::shared) return memory_.shared(now, 1);
  return {now + 1, now + op.latency, now + op.latency};
}

void SmRun::set_scoreboards(ResidentWarp& warp, const TimedOp& op, const Served& served) {
  if (op.copies) {
    warp.copies = {std::max(warp.copies.when, served.done),
                   std::max(warp.copies.alone, served.alone)};
  }
  const auto set = [&](unsigned scoreboard, const Release& release) {
    if (scoreboard < kScoreboards) warp.scoreboards[scoreboard].set(release, op.result_wait);
  };
  set(op.control.writes,
      op.kind == TimedOp::Kind::commit ? warp.copies : Release{served.done, served.alone});
  set(op.control.reads, {served.taken, 0});
}

// An instruction may access memory twice, as cp.async does: what it writes, it writes when it has
// read it.
void SmRun::hear(const sim::MemoryAccess& access) {
  Served served;
  if (access.space == sim::Space::shared && access.kind == sim::Access::async_store) {
    heard_served_.done =
        std::max(heard_served_.done, memory_.write_copied(hear_at_, shared_wavefronts(access)));
    return;
  }
  if (access.space == sim::Space::shared) {
    served = memory_.shared(hear_at_, shared_wavefronts(access));
  } else if (access.kind == sim::Access::store) {
    served = memory_.store(hear_at_, touch_of(access));
  } else if (access.kind == sim::Access::async_load) {
    served = memory_.copy(hear_at_, touch_of(access), passes_l1_);
  } else {
    served =
        memory_.load(hear_at_, touch_of(access), passes_l1_ || access.kind == sim::Access::atomic);
  }
  heard_served_ = heard_ ? Served{std::max(heard_served_.taken, served.taken),
                                  std::max(heard_served_.done, served.done),
                                  std::max(heard_served_.alone, served.alone)}
                         : served;
  heard_ = true;
}

void SmRun::find_ready(ResidentWarp& warp) {
  warp.next = warp.warp->divergence.next();
  const TimedOp& op = schedule_.ops[warp.next];
  warp.ready_at = warp.free_from;
  warp.waits_in = WarpState::wait;
  double alone = warp.free_from;
  const auto wait_for = [&](Scoreboard& scoreboard, std::size_t left) {
    scoreboard.forget_before(warp.free_from);
    const Release release = scoreboard.when_left(left);
    const double when = std::ceil(release.when);
    alone = std::max(alone, std::min(release.alone, when));
    if (when <= warp.ready_at) return;
    warp.ready_at = when;
    warp.waits_in = scoreboard.wait;
  };
  for (unsigned i = 0; i < kScoreboards; ++i) {
    if ((op.control.waits >> i & 1) != 0) wait_for(warp.scoreboards[i], 0);
  }
  if (op.kind == TimedOp::Kind::depends && op.scoreboard < kScoreboards)
    wait_for(warp.scoreboards[op.scoreboard], op.left);
  warp.alone += alone - warp.free_from;
}

// Those of the block that waited and need not any longer.
void SmRun::release_barriers(ResidentWarp& warp, double now) {
  warp.block->release_barriers();
  for (ResidentBlock& resident : resident_) {
    if (resident.block.get() != warp.block) continue;
    for (const auto& other : resident.warps) {
      if (!other->at_barrier || !other->warp->divergence.is_running()) continue;
      other->at_barrier = false;
      time_.steps += has_asked_[warp.block_number];
      has_asked_[warp.block_number] = false;
      const double arrived = other->free_from;
      other->free_from = std::max(other->free_from, now + figures_.barrier_latency);
      other->alone += figures_.barrier_latency;
      find_ready(*other);
      time_.places[other->next][WarpState::barrier] += other->free_from - arrived;
      other->waits_from += other->free_from - arrived;
      for (Scheduler& scheduler : schedulers_)
        scheduler.is_changed = true;
    }
  }
}

}  // namespace

SmTime time_on_sm(const sim::LaunchState& launch, const Schedule& schedule,
                  const SmFigures& figures, const BlocksOfSm& blocks,
                  const std::function<bool()>& stop) {
  return SmRun(launch, schedule, figures, blocks, stop).run();
}

}  // namespace gpuexp
