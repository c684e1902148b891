// Blocks that execute together, access each other's shared memory and have a common barrier.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/block.hpp"

namespace gpuexp::sim {

/// A launch without clusters has clusters of one block.
class Cluster {
 public:
  /// `place`: coordinates of the cluster in the grid of clusters.
  Cluster(const LaunchState& launch, const Extent& place);

  /// Executes all threads of all blocks to their end: one turn of each warp, block by block, until
  /// all have exited. Throws Fault.
  void run();

  /// The block with this rank, which counts x first; null: none.
  Block* block(std::size_t rank) const {
    return rank < blocks_.size() ? blocks_[rank].get() : nullptr;
  }
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }

  /// Releases warps that wait at the cluster's barrier or at a block's, if these are complete.
  /// Returns whether any barrier was.
  bool release_barriers();
  /// Throws Fault: threads wait for others that never arrive.
  [[noreturn]] void report_barrier() const;
  /// The number of times that the cluster's barrier has completed.
  std::uint32_t barriers_ended() const { return barriers_ended_; }
  /// The number of ended phases of mbarriers and of the cluster's barrier.
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
