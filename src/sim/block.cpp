#include "sim/block.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace gpuexp::sim {

void GlobalMemory::add(void* begin, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  ranges_.push_back({address, address + bytes});
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

std::byte* GlobalMemory::at(std::uint64_t address, std::size_t bytes) const {
  for (const Range& range : ranges_) {
    if (address >= range.begin && address + bytes <= range.end)
      return reinterpret_cast<std::byte*>(address);
  }
  throw Fault(fmt::format("{} bytes at {:#x} are in no buffer", bytes, address));
}

Block::Block(const LaunchState& of, Extent at)
    : launch(of), place(at), shared(of.shared_bytes), counts(of.program->ops.size()) {
  const std::int64_t threads = launch.block.count();
  for (std::int64_t first = 0; first < threads; first += kLanes) {
    const auto lanes = static_cast<unsigned>(std::min<std::int64_t>(kLanes, threads - first));
    warps_.push_back(std::make_unique<Warp>(*this, static_cast<unsigned>(first / kLanes),
                                            lanes == kLanes ? kAllLanes : (1u << lanes) - 1));
  }
}

std::byte* Block::shared_at(std::uint64_t address, std::size_t bytes, std::size_t alignment) {
  if (address > shared.size() || bytes > shared.size() - address)
    throw Fault(
        fmt::format("{} bytes at {:#x} are outside of the block's {} bytes of shared memory", bytes,
                    address, shared.size()));
  if (address % alignment != 0)
    throw Fault(fmt::format("{} bytes of shared memory at {:#x} are not aligned", bytes, address));
  return shared.data() + address;
}

// A lane's bytes are kept in reverse order of blocks from the end, so that a small stack is small.
std::byte* Warp::local_at(unsigned lane, std::uint64_t address, std::size_t bytes) {
  if (address > kLocalBytes || bytes > kLocalBytes - address)
    throw Fault(
        fmt::format("{} bytes at {:#x} are outside of a thread's local memory", bytes, address));
  constexpr std::size_t kLeast = 1024;
  std::vector<std::byte>& used = local[lane];
  const std::size_t from_end = kLocalBytes - address;
  if (from_end > used.size()) {
    const std::size_t size = std::max(std::bit_ceil(from_end), kLeast);
    used.insert(used.begin(), size - used.size(), std::byte{0});
  }
  return used.data() + (used.size() - from_end);
}

void Block::come_to_barrier(Warp& warp, unsigned barrier, const BarrierArrival& arrival) {
  Barrier& b = barriers_[barrier];
  b.threads = arrival.threads;
  // A warp that comes as a whole counts as 32 threads, also where it has fewer.
  const bool is_whole = (arrival.lanes | warp.divergence.exited()) == kAllLanes;
  const auto lanes = static_cast<unsigned>(std::popcount(arrival.lanes));
  b.arrived += is_whole ? kLanes : lanes;
  b.votes.all += lanes;
  b.votes.yes += static_cast<unsigned>(std::popcount(arrival.lanes & arrival.yes));
  if (arrival.waits) warp.divergence.wait_for_block(barrier);
  release_barrier(barrier);
}

void Block::run() {
  // Rounds in which all warps only wait and no phase ends: after so many, none will. A kernel may
  // poll now and then, and count its own turns.
  constexpr int kMostIdleRounds = 1 << 16;
  int idle_rounds = 0;
  // A warp runs on until it waits, or until others have waited long for what it may wait for.
  for (;;) {
    const std::uint64_t phases = phases_ended;
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
    // Those that only waited for threads that have ended since.
    bool any_released = false;
    for (unsigned barrier = 0; barrier < barriers_.size(); ++barrier)
      any_released |= release_barrier(barrier);
    if (!any_ran && !any_released)
      throw Fault("a barrier is never reached by all threads of its block");
    idle_rounds = any_works || any_released || phases != phases_ended ? 0 : idle_rounds + 1;
    if (idle_rounds > kMostIdleRounds)
      throw Fault("all warps wait for phases of mbarriers that never end");
  }
}

void Block::run(Warp& warp) {
  constexpr int kTurn = 1 << 14;
  Divergence& divergence = warp.divergence;
  const std::vector<Op>& ops = launch.program->ops;
  warp.waits = false;
  for (int step = 0; step < kTurn && divergence.is_running() && !warp.waits; ++step) {
    const std::uint32_t at = divergence.next();
    if (at >= ops.size()) throw Fault("execution ran past the end of the kernel");
    const Op& op = ops[at];
    const LaneMask running = divergence.lanes();
    const LaneMask guard = op.guard.kind == Operand::Kind::uniform_predicate
                               ? (warp.uniform_predicates[op.guard.index] ? kAllLanes : 0)
                               : warp.predicates[op.guard.index];
    const LaneMask lanes = running & (op.guard.inverted ? ~guard : guard);
    OpCount& count = counts[at];
    ++steps;
    ++count.warps;
    count.lanes += static_cast<unsigned>(std::popcount(running));
    count.lanes_on += static_cast<unsigned>(std::popcount(lanes));
    divergence.go_to(at + 1);
    if (lanes != 0) op.run(warp, op, lanes);
  }
}

// Without a count of threads a barrier is of all that are left.
bool Block::is_complete(unsigned barrier) const {
  const Barrier& b = barriers_[barrier];
  if (b.threads > 0) return b.arrived >= b.threads;
  return std::all_of(warps_.begin(), warps_.end(), [&](const auto& warp) {
    const Divergence& d = warp->divergence;
    return d.has_exited() || (d.lanes_at_block_barrier(barrier) | d.exited()) == kAllLanes;
  });
}

bool Block::release_barrier(unsigned barrier) {
  Barrier& b = barriers_[barrier];
  if (b.arrived == 0 || !is_complete(barrier)) return false;
  for (const auto& warp : warps_) {
    if (warp->divergence.lanes_at_block_barrier(barrier) == 0) continue;
    warp->votes = b.votes;
    warp->divergence.release_block_barrier(barrier);
  }
  b = {};
  return true;
}

}  // namespace gpuexp::sim
