// Blocks that execute together: they reach each other's shared memory, and have a barrier.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/block.hpp"

namespace gpuexp::sim {

/// A launch without clusters has clusters of one block.
class Cluster {
 public:
  /// `place` is that of the cluster among those of the grid.
  Cluster(const LaunchState& launch, const Extent& place);

  /// Executes all threads of all blocks to their end, a turn of each warp after the other. Throws
  /// Fault.
  void run();

  /// By rank, the x-coordinate first; null: there is none.
  Block* block(std::size_t rank) const {
    return rank < blocks_.size() ? blocks_[rank].get() : nullptr;
  }
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }

  /// Lets warps go on that wait at the cluster's barrier or at a block's, where these are complete.
  bool release_barriers();
  /// Throws Fault: threads wait for others that never come.
  [[noreturn]] void report_barrier() const;
  /// How often the cluster's barrier has been complete.
  std::uint32_t barriers_ended() const { return barriers_ended_; }
  /// Phases of mbarriers that have ended, and those of its barrier.
  std::uint64_t phases_ended() const;

  /// barrier.cluster: a warp arrives as a whole, and waits for all warps that have not exited.
  void arrive(Warp& warp);
  void wait(Warp& warp);

 private:
  Round run_round();
  bool release_barrier();
  std::vector<std::unique_ptr<Block>> blocks_;
  std::uint32_t barriers_ended_ = 0;
};

}  // namespace gpuexp::sim
