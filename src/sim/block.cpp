#include "sim/block.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sim/module_memory.hpp"

namespace gpuexp::sim {

std::span<const std::byte> LaunchState::constant_bank(unsigned bank) const {
  if (bank == 0) return constants;
  if (module && bank == kModuleBank) return module->constants();
  if (module && bank == kAddressBank) return module->addresses();
  return program->constant_bank(bank);
}

namespace {

// Full masks are frequent, and std::popcount is a function call in code for any x86-64 processor.
GPUEXP_INLINED unsigned count_of(LaneMask lanes) {
  return lanes == kAllLanes ? kLanes : static_cast<unsigned>(std::popcount(lanes));
}

}  // namespace

Block::Block(const LaunchState& of, Extent at, const Membership& in)
    : launch(of), place(at), member(in), shared(of.shared_bytes), counts(of.program->ops.size()) {
  const std::int64_t threads =
      std::min(launch.block.count(), std::int64_t{launch.max_warps} * kLanes);
  for (std::int64_t first = 0; first < threads; first += kLanes) {
    const auto lanes = static_cast<unsigned>(std::min<std::int64_t>(kLanes, threads - first));
    warps_.push_back(std::make_unique<Warp>(*this, static_cast<unsigned>(first / kLanes),
                                            lanes == kLanes ? kAllLanes : (1u << lanes) - 1,
                                            launch.registers));
  }
  if (launch.observation) {
    const auto& traced = launch.observation->warp;
    observed = std::make_unique<Observed>(*launch.observation, counts.size(),
                                          traced && traced->block == number_in(launch.grid, place));
  }
  watches_ = launch.checks.memory || launch.checks.bounds || observed;
  if (!launch.checks.memory) return;
  checks_ = std::make_unique<MemoryChecks>(*launch.global, *launch.program, launch.block, shared,
                                           launch.system_shared_bytes, warps_.size());
  if (launch.group_memory)
    checks_->set_group_memory({*launch.group_memory, *launch.group_memory + kGroupMemoryBytes});
  for (const auto& warp : warps_)
    checks_->follow(*warp);
}

std::byte* Block::shared_at(std::uint64_t address, std::size_t bytes, std::size_t alignment) {
  if (address > shared.size() || bytes > shared.size() - address)
    throw Fault(FaultKind::out_of_bounds,
                describe_outside_shared(address, bytes, shared.size(), launch.system_shared_bytes),
                address);
  if (address % alignment != 0)
    throw Fault(FaultKind::misaligned,
                describe_misaligned_shared(address, bytes, launch.system_shared_bytes), address);
  return shared.data() + address;
}

std::string Block::shared_offset(std::uint64_t address) const {
  return sim::shared_offset(address, launch.system_shared_bytes);
}

std::uint64_t Block::steps() const {
  std::uint64_t sum = 0;
  for (const auto& warp : warps_)
    sum += warp->steps;
  return sum;
}

SharedPlace Block::shared_place(std::uint32_t address, std::optional<unsigned> lane) {
  const std::uint32_t of = address >> kRankShift;
  const std::uint32_t offset = address & ((1u << kRankShift) - 1);
  if (of == member.rank || launch.is_alone) return {*this, offset};
  Block* const other =
      member.blocks && of < member.blocks->size() ? (*member.blocks)[of].get() : nullptr;
  if (!other)
    throw Fault(
        FaultKind::out_of_bounds,
        fmt::format("address {:#x} is in shared memory of block {}, which a cluster of size {} "
                    "does not have",
                    address, of, launch.cluster.count()),
        address, lane);
  if (other->has_exited())
    throw Fault(FaultKind::race,
                fmt::format("shared memory of block {} is accessed after that block has exited",
                            to_text(other->place)),
                address, lane);
  return {*other, offset};
}

bool Block::has_exited() const {
  return std::all_of(warps_.begin(), warps_.end(),
                     [](const auto& warp) { return warp->divergence.has_exited(); });
}

void Block::arrive_at_barrier(unsigned barrier, const BarrierArrival& arrival) {
  Warp& warp = *running_;
  const LaneMask others = warp.divergence.lanes() & ~arrival.lanes;
  if (others != 0 && arrival.waits) {
    const int waiting = std::popcount(arrival.lanes), passing = std::popcount(others);
    throw Fault(FaultKind::barrier,
                fmt::format("{} of a warp {} at a barrier that {} of the warp {}; {} have exited",
                            counted(waiting, "thread"), noun_for(waiting, "waits", "wait"),
                            counted(passing, "other"), noun_for(passing, "skips", "skip"),
                            std::popcount(warp.divergence.exited())));
  }
  if (barrier >= barriers_.size())
    throw Fault(FaultKind::barrier,
                fmt::format("the block has no barrier {}; expected 0 to 15", barrier));
  Barrier& b = barriers_[barrier];
  if (b.arrived > 0 && b.threads != arrival.threads)
    throw Fault(FaultKind::barrier,
                fmt::format("threads arrive at barrier {} with a count of {} threads; earlier "
                            "arrivals gave a count of {} (0: all)",
                            barrier, arrival.threads, b.threads));
  b.threads = arrival.threads;
  // A warp that arrives as a whole counts as 32 threads, even if it has fewer threads.
  const bool is_whole = (arrival.lanes | warp.divergence.exited()) == kAllLanes;
  const auto lanes = static_cast<unsigned>(std::popcount(arrival.lanes));
  b.arrived += is_whole ? kLanes : lanes;
  b.votes.all += lanes;
  b.votes.yes += static_cast<unsigned>(std::popcount(arrival.lanes & arrival.yes));
  if (checks_ && b.threads > 0) checks_->arrive(warp, barrier);
  if (arrival.waits) warp.divergence.wait_for_block(barrier);
  if (b.threads > 0) release_barrier(barrier);
}

void IdleRounds::add(const Round& round, std::uint64_t phases) {
  constexpr int kMaxIdleRounds = 1 << 16;
  count_ = round.any_progress || phases != phases_ ? 0 : count_ + 1;
  phases_ = phases;
  if (count_ > kMaxIdleRounds)
    throw Fault(FaultKind::barrier,
                "all warps wait for phases of mbarriers that never end, or sleep in loops");
}

void RankRounds::begin() {
  if (memory_.is_shared()) seen_ = memory_.signal().count();
}

void RankRounds::end(const Round& round) {
  // Weak stores, copies by the host, and ranks whose kernels never end do not signal. Most rounds
  // of an endless kernel must not sleep, so that Checks::max_instructions ends it in time.
  constexpr int kPolls = 1024;
  if (!memory_.is_shared()) return;
  if (round.any_signals) memory_.signal().raise();
  if (!round.any_ran || round.any_continues) return;
  if (polls_ > 0) {
    --polls_;
    std::this_thread::yield();
  } else if (!memory_.signal().wait(seen_)) {
    polls_ = kPolls;
  }
}

void Block::run() {
  IdleRounds idle;
  RankRounds rounds(*launch.global);
  for (;;) {
    rounds.begin();
    const Round round = run_round();
    rounds.end(round);
    if (!round.any_left) return;
    if (!round.any_ran && !release_barriers()) report_barrier();
    idle.add(round, phases_ended_);
  }
}

Round Block::run_round() {
  Round round;
  for (const auto& warp : warps_) {
    if (warp->divergence.has_exited()) continue;
    round.any_left = true;
    if (!warp->divergence.is_running()) continue;
    round.any_ran = true;
    run(*warp);
    round.any_progress |= !warp->waits;
    round.any_continues |= !warp->polls;
    round.any_signals |= std::exchange(warp->signals, false);
  }
  return round;
}

void Block::run(Warp& warp) {
  running_ = &warp;
  try {
    if (warp.steps >= launch.checks.max_instructions) report_endless(warp);
    run_turn(warp);
  } catch (Fault& fault) {
    add_place(fault, warp);
    name_later_write(warp, fault);
    throw;
  }
}

Executed Block::step(Warp& warp) {
  running_ = &warp;
  warp.waits = false;
  try {
    if (warp.steps >= launch.checks.max_instructions) report_endless(warp);
    const Executed executed = execute_next(warp, launch.executed_ops());
    ++warp.steps;
    return executed;
  } catch (Fault& fault) {
    add_place(fault, warp);
    throw;
  }
}

void Block::add_place(Fault& fault, const Warp& warp) const {
  const auto first = std::int64_t{warp.index} * kLanes;
  std::optional<Extent> thread;
  // An instruction without lanes, such as a bulk copy, is issued by one thread.
  const bool concerns_warp = fault.kind == FaultKind::barrier || fault.kind == FaultKind::endless;
  if (!fault.lane && !concerns_warp && std::popcount(warp.divergence.lanes()) == 1)
    fault.lane = first_lane(warp.divergence.lanes());
  if (fault.lane) thread = place_at(launch.block, first + *fault.lane);
  const std::uint32_t next = warp.divergence.next();
  if (fault.place.empty()) fault.place = source_line(*launch.program, next == 0 ? 0 : next - 1);
  fault.set_place(place, thread, fault.place);
}

void Block::run_turn(Warp& warp) {
  constexpr std::uint64_t kTurn = 1 << 14;
  const std::vector<Op>& ops = launch.executed_ops();
  warp.waits = false;
  warp.ends_turn = false;
  warp.polls = false;
  const std::uint64_t max_steps = std::min(kTurn, launch.checks.max_instructions);
  std::uint64_t step = 0;
  for (; step < max_steps && warp.divergence.is_running() && !warp.waits && !warp.ends_turn;
       ++step, ++warp.steps)
    execute_next(warp, ops);
  // An endless loop may end its warp's turn in each iteration, as a loop that polls memory does.
  steps_until_stopped_ -= std::min(step, steps_until_stopped_);
  if (steps_until_stopped_ > 0) return;
  steps_until_stopped_ = kStepsPerStop;
  if (launch.stop && (*launch.stop)()) stop_at(warp);
}

namespace {

GPUEXP_INLINED LaneMask guarded(const Warp& warp, const Op& op) {
  const LaneMask guard = op.guard.kind == Operand::Kind::uniform_predicate
                             ? (warp.uniform_predicates[op.guard.index] ? kAllLanes : 0)
                             : warp.predicates[op.guard.index];
  return warp.divergence.lanes() & (op.guard.inverted ? ~guard : guard);
}

}  // namespace

LaneMask Block::lanes_of_next(const Warp& warp) const {
  const std::vector<Op>& ops = launch.executed_ops();
  const std::uint32_t at = warp.divergence.next();
  return at < ops.size() ? guarded(warp, ops[at]) : 0;
}

GPUEXP_INLINED Executed Block::execute_next(Warp& warp, const std::vector<Op>& ops) {
  Divergence& divergence = warp.divergence;
  const std::uint32_t at = divergence.next();
  if (at >= ops.size()) throw Fault("execution ran past the end of the kernel");
  const Op& op = ops[at];
  const LaneMask running = divergence.lanes();
  const LaneMask lanes = guarded(warp, op);
  OpCount& count = counts[at];
  ++count.warps;
  count.lanes += count_of(running);
  count.predicated_lanes += count_of(lanes);
  divergence.go_to(at + 1);
  if (lanes == 0) return {at, lanes};
  if (warp.undefined) check_registers(*launch.program, warp, op, lanes, launch.system_shared_bytes);
  op.run(warp, op, lanes);
  return {at, lanes};
}

// Executes the warp's next turn, within its endless loop, and reports the first line, in program
// order, that the turn executes. The listener must not receive the turn's accesses.
void Block::report_endless(Warp& warp) {
  set_listener(nullptr);
  const std::vector<OpCount> before = counts;
  run_turn(warp);
  std::uint32_t first = 0;
  while (first + 1 < counts.size() && counts[first].warps == before[first].warps)
    ++first;
  Fault fault(FaultKind::endless,
              fmt::format("a loop has not ended after {} instructions of its warp", warp.steps));
  fault.place = source_line(*launch.program, first);
  throw fault;
}

void Block::stop_at(const Warp& warp) const {
  const bool is_known = warp.divergence.is_running() && warp.divergence.next() < counts.size();
  const std::string line = is_known ? source_line(*launch.program, warp.divergence.next()) : "";
  throw Stopped("the run was ended", line);
}

// Returns null for accesses whose counts need no loop over lanes. next() is already the instruction
// after the current one.
AccessMemo* Block::memo_of(const MemoryAccess& access) {
  if (access.shape.pattern != AccessShape::Pattern::other) return nullptr;
  auto& memos = memos_[access.space == Space::global ? 0 : 1];
  if (memos.empty()) memos.resize(counts.size());
  auto& memo = memos[running_->divergence.next() - 1];
  if (!memo) memo = std::make_unique<AccessMemo>();
  return memo.get();
}

void Block::watch(const MemoryAccess& access) {
  if (observed)
    observed->note(running_->divergence.next() - 1, running_->index, running_->steps, access);
  if (access.space == Space::cluster) {
    check_remote(access);
  } else if (checks_) {
    checks_->check(*running_, access);
  } else if (launch.checks.bounds && access.space == Space::global) {
    check_bounds(*launch.global, access);
  }
  if (listener_) listener_->hear(access);
}

// Accesses of different blocks are not compared with each other. A block may know that other blocks
// no longer read its shared memory if they have since written to it, or if a phase of its mbarriers
// or of the cluster's barrier has ended.
void Block::check_remote(const MemoryAccess& access) {
  if (!checks_) return;
  LaneMask unwritten = 0;
  for_each_lane(access.lanes, [&](unsigned lane) {
    const SharedPlace at = shared_place(static_cast<std::uint32_t>(access.address[lane]), lane);
    Block& other = at.block;
    if (at.offset + access.width > other.shared.size())
      throw Fault(FaultKind::out_of_bounds,
                  fmt::format("{}; the block is {}",
                              describe_outside_shared(at.offset, access.width, other.shared.size(),
                                                      launch.system_shared_bytes),
                              to_text(other.place)),
                  at.offset, lane);
    if (at.offset % access.width != 0)
      throw Fault(FaultKind::misaligned,
                  describe_misaligned_shared(at.offset, access.width, launch.system_shared_bytes),
                  at.offset, lane);
    if (!other.checks_->note_remote(access.kind, at.offset, access.width))
      unwritten |= LaneMask{1} << lane;
    other.remote_read_.reset();
    if (access.kind != Access::load) return;
    const auto thread = std::int64_t{running_->index} * kLanes + lane;
    other.remote_read_ = RemoteRead{place, place_at(launch.block, thread),
                                    running_->divergence.next() - 1, access.width, at.offset};
  });
  if (unwritten != 0) checks_->report_unwritten(*running_, access, unwritten);
}

void Block::check_end() const {
  if (!remote_read_) return;
  const RemoteRead& read = *remote_read_;
  Fault fault(FaultKind::race,
              fmt::format("{} bytes of shared memory of block {} at {} are read, but nothing "
                          "keeps the block from exiting before the read",
                          read.width, to_text(place), shared_offset(read.offset)),
              read.offset);
  fault.set_place(read.block, read.thread, source_line(*launch.program, read.instruction));
  throw fault;
}

void Block::commit_copies(LaneMask lanes) {
  if (checks_) checks_->commit_copies(*running_, lanes);
}

void Block::wait_for_copies(LaneMask lanes, std::uint32_t left) {
  if (checks_) checks_->wait_for_copies(*running_, lanes, left);
}

// Without a thread count, a barrier waits for all threads that have not exited.
bool Block::is_complete(unsigned barrier) const {
  if (launch.is_alone) return true;
  const Barrier& b = barriers_[barrier];
  if (b.threads > 0) return b.arrived >= b.threads;
  return std::all_of(warps_.begin(), warps_.end(), [&](const auto& warp) {
    const Divergence& d = warp->divergence;
    return d.has_exited() || (d.lanes_at_block_barrier(barrier) | d.exited()) == kAllLanes;
  });
}

bool Block::release_barriers() {
  bool any = false;
  for (unsigned barrier = 0; barrier < barriers_.size(); ++barrier)
    any |= release_barrier(barrier);
  return any;
}

bool Block::release_barrier(unsigned barrier) {
  Barrier& b = barriers_[barrier];
  if (b.arrived == 0 || !is_complete(barrier)) return false;
  if (checks_ && b.threads == 0) checks_->release_barrier();
  if (checks_ && b.threads > 0) checks_->release_barrier(barrier, warps_);
  for (const auto& warp : warps_) {
    if (warp->divergence.lanes_at_block_barrier(barrier) == 0) continue;
    warp->votes = b.votes;
    warp->divergence.release_block_barrier(barrier);
  }
  b = {};
  return true;
}

}  // namespace gpuexp::sim
