#include "sim/block.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace gpuexp::sim {

void GlobalMemory::add(void* begin, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  ranges_.push_back({address, address + bytes});
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

void GlobalMemory::remove(const void* begin) {
  std::erase_if(ranges_, [&](const Range& range) {
    return range.begin == reinterpret_cast<std::uint64_t>(begin);
  });
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
                                            lanes == kLanes ? kAllLanes : (1u << lanes) - 1,
                                            launch.registers));
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
    if (!any_ran && !release_barrier())
      throw Fault("a barrier is never reached by all threads of its block");
    idle_rounds = any_works || phases != phases_ended ? 0 : idle_rounds + 1;
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
    ++count.warps;
    count.lanes += static_cast<unsigned>(std::popcount(running));
    count.lanes_on += static_cast<unsigned>(std::popcount(lanes));
    divergence.go_to(at + 1);
    if (lanes != 0) op.run(warp, op, lanes);
  }
}

bool Block::release_barrier() {
  bool released = false;
  for (const auto& warp : warps_) {
    Divergence& divergence = warp->divergence;
    if (divergence.has_exited()) continue;
    if ((divergence.lanes_at_block_barrier() | divergence.exited()) != kAllLanes) return false;
  }
  vote_result = std::exchange(vote, false);
  for (const auto& warp : warps_) {
    if (warp->divergence.lanes_at_block_barrier() == 0) continue;
    warp->divergence.release_block_barrier();
    released = true;
  }
  return released;
}

}  // namespace gpuexp::sim
