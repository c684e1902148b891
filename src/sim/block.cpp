#include "sim/block.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace gpuexp::sim {

namespace {

// Adds threads that wait, by the line of what they wait at.
void add_waiters(std::map<std::string, unsigned>& waiters, const Program& program,
                 const std::vector<LaneGroup>& groups) {
  for (const LaneGroup& group : groups)
    waiters[source_line(program, group.next - 1)] +=
        static_cast<unsigned>(std::popcount(group.lanes));
}

std::string describe(const std::map<std::string, unsigned>& waiters, std::string_view none) {
  std::string text;
  for (const auto& [line, threads] : waiters)
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", threads, line.empty() ? "" : " at ",
                        line);
  return text.empty() ? std::string(none) : text;
}

}  // namespace

Block::Block(const LaunchState& of, Extent at)
    : launch(of), place(at), shared(of.shared_bytes), counts(of.program->ops.size()) {
  const std::int64_t threads = launch.block.count();
  for (std::int64_t first = 0; first < threads; first += kLanes) {
    const auto lanes = static_cast<unsigned>(std::min<std::int64_t>(kLanes, threads - first));
    warps_.push_back(std::make_unique<Warp>(*this, static_cast<unsigned>(first / kLanes),
                                            lanes == kLanes ? kAllLanes : (1u << lanes) - 1,
                                            launch.registers));
  }
  if (launch.observation) {
    const auto& traced = launch.observation->warp;
    const std::int64_t index = place.x + launch.grid.x * (place.y + launch.grid.y * place.z);
    observed = std::make_unique<Observed>(*launch.observation, counts.size(),
                                          traced && traced->block == index);
  }
  watches_ = launch.checks.memory || observed;
  if (!launch.checks.memory) return;
  checks_ = std::make_unique<MemoryChecks>(*launch.global, *launch.program, launch.block,
                                           launch.shared_bytes, warps_.size());
  for (const auto& warp : warps_)
    checks_->follow(*warp);
}

std::byte* Block::shared_at(std::uint64_t address, std::size_t bytes, std::size_t alignment) {
  if (address > shared.size() || bytes > shared.size() - address)
    throw Fault(FaultKind::out_of_bounds, describe_outside_shared(address, bytes, shared.size()),
                address);
  if (address % alignment != 0)
    throw Fault(FaultKind::misaligned, describe_misaligned_shared(address, bytes), address);
  return shared.data() + address;
}

void Block::run() {
  // Rounds in which all warps only wait and no phase ends: after so many, none will. A kernel may
  // poll now and then, and count its own turns.
  constexpr int kMostIdleRounds = 1 << 16;
  int idle_rounds = 0;
  // A warp runs on until it waits, or until others have waited long for what it may wait for.
  for (;;) {
    const std::uint64_t phases = phases_ended_;
    bool any_left = false;
    bool any_ran = false;
    bool any_works = false;
    for (const auto& warp : warps_) {
      if (warp->divergence.has_exited()) continue;
      any_left = true;
      if (!warp->divergence.is_running()) continue;
      any_ran = true;
      run(*warp);
      any_works |= !warp->waits;
    }
    if (!any_left) return;
    if (!any_ran && !release_barrier()) report_barrier();
    idle_rounds = any_works || phases != phases_ended_ ? 0 : idle_rounds + 1;
    if (idle_rounds > kMostIdleRounds)
      throw Fault(FaultKind::barrier, "all warps wait for phases of mbarriers that never end");
  }
}

void Block::run(Warp& warp) {
  running_ = &warp;
  try {
    if (warp.steps >= launch.checks.most_instructions) report_endless(warp);
    run_turn(warp);
  } catch (Fault& fault) {
    const auto first = std::int64_t{warp.index} * kLanes;
    std::optional<Extent> thread;
    if (fault.lane) thread = thread_at(launch.block, first + *fault.lane);
    const std::uint32_t next = warp.divergence.next();
    if (fault.place.empty()) fault.place = source_line(*launch.program, next == 0 ? 0 : next - 1);
    fault.set_place(place, thread, fault.place);
    throw;
  }
}

void Block::run_turn(Warp& warp) {
  constexpr std::uint64_t kTurn = 1 << 14;
  Divergence& divergence = warp.divergence;
  const std::vector<Op>& ops = launch.program->ops;
  warp.waits = false;
  const std::uint64_t most = std::min(kTurn, launch.checks.most_instructions);
  for (std::uint64_t step = 0; step < most && divergence.is_running() && !warp.waits;
       ++step, ++warp.steps) {
    const std::uint32_t at = divergence.next();
    if (at >= ops.size()) throw Fault("execution ran past the end of the kernel");
    const Op& op = ops[at];
    const LaneMask running = divergence.lanes();
    const LaneMask guard = op.guard.kind == Operand::Kind::uniform_predicate
                               ? (warp.uniform_predicates[op.guard.index] ? kAllLanes : 0)
                               : warp.predicates[op.guard.index];
    const LaneMask lanes = running & (op.guard.inverted ? ~guard : guard);
    OpCount& count = counts[at];
    ++count.warps;
    count.lanes += static_cast<unsigned>(std::popcount(running));
    count.lanes_on += static_cast<unsigned>(std::popcount(lanes));
    divergence.go_to(at + 1);
    if (lanes == 0) continue;
    if (warp.undefined) check_registers(*launch.program, warp, op, lanes);
    op.run(warp, op, lanes);
  }
}

// What the warp executes in one more turn is the loop.
void Block::report_endless(Warp& warp) {
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

void Block::report_barrier() const {
  std::map<std::string, unsigned> at_barrier;
  std::map<std::string, unsigned> at_others;
  std::int64_t left = 0;
  for (const auto& warp : warps_) {
    const Divergence& divergence = warp->divergence;
    add_waiters(at_barrier, *launch.program, divergence.block_waiters());
    add_waiters(at_others, *launch.program, divergence.warp_waiters());
    left += std::popcount(~divergence.exited());
  }
  Fault fault(FaultKind::barrier,
              fmt::format("a barrier is never reached by all threads of its block: threads that "
                          "wait there: {}; that wait for other lanes of their warps: {}; that have "
                          "exited: {}",
                          describe(at_barrier, "0"), describe(at_others, "0"),
                          launch.block.count() - left));
  const auto& named = at_barrier.empty() ? at_others : at_barrier;
  fault.set_place(place, std::nullopt, named.empty() ? std::string{} : named.begin()->first);
  throw fault;
}

// The instruction that runs is the one before the next.
void Block::watch(const MemoryAccess& access) {
  if (observed)
    observed->note(running_->divergence.next() - 1, running_->index, running_->steps, access);
  if (checks_) checks_->check(*running_, access);
}

void Block::commit_copies(LaneMask lanes) {
  if (checks_) checks_->commit_copies(*running_, lanes);
}

void Block::wait_for_copies(LaneMask lanes, std::uint32_t left) {
  if (checks_) checks_->wait_for_copies(*running_, lanes, left);
}

bool Block::release_barrier() {
  bool released = false;
  for (const auto& warp : warps_) {
    Divergence& divergence = warp->divergence;
    if (divergence.has_exited()) continue;
    if ((divergence.lanes_at_block_barrier() | divergence.exited()) != kAllLanes) return false;
  }
  vote_result = std::exchange(vote, false);
  if (checks_) checks_->release_barrier();
  for (const auto& warp : warps_) {
    if (warp->divergence.lanes_at_block_barrier() == 0) continue;
    warp->divergence.release_block_barrier();
    released = true;
  }
  return released;
}

}  // namespace gpuexp::sim
