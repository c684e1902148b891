// Blocks that execute together, access each other's shared memory and share a barrier.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/block.hpp"

namespace gpuexp::sim {

class Cluster {
 public:
  Cluster(const LaunchState& launch, const Extent& place);

  /// Executes all threads of all blocks until they exit, in rounds of one turn per warp, block by
  /// block. Throws Fault.
  void run();

  /// The block with this rank (x first); null if there is none.
  Block* block(std::size_t rank) const {
    return rank < blocks_.size() ? blocks_[rank].get() : nullptr;
  }
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }

  /// Releases warps that wait at complete barriers of the cluster or of its blocks. Returns whether
  /// it released any.
  bool release_barriers();
  /// Throws Fault: threads wait at a barrier for threads that never arrive.
  [[noreturn]] void report_barrier() const;
  std::uint32_t barriers_ended() const { return barriers_ended_; }
  /// Number of phases of mbarriers and of the cluster's barrier that have ended.
  std::uint64_t phases_ended() const;

  /// barrier.cluster: a whole warp arrives, and waits for all warps of the cluster that have not
  /// exited.
  void arrive(Warp& warp);
  void wait(Warp& warp);

 private:
  Round run_round();
  bool release_barrier();
  std::vector<std::unique_ptr<Block>> blocks_;
  std::uint32_t barriers_ended_ = 0;
};

}  // namespace gpuexp::sim
