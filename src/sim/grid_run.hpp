// Executes all blocks of a grid, or a sample that represents all blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/block.hpp"
#include "sim/block_draw.hpp"
#include "sim/cluster.hpp"
#include "sim/kernel_counters.hpp"

namespace gpuexp::sim {

/// How to sample the blocks of a grid: blocks are drawn until both limits hold or no block is left.
/// Grids with clusters are sampled by cluster.
struct BlockSampling {
  /// Maximum relative standard error of each metric (metric_names()).
  double standard_error = 0.003;
  /// Minimum number of instructions executed by lanes; the default takes about 0.1 s.
  double min_lane_instructions = 3e7;
  /// Approximate number of blocks to draw instead; 0: use the limits above.
  std::int64_t blocks = 0;
  std::uint64_t seed = 1;
};

/// Counts of one kernel of a launch. If only a sample of its blocks was executed, the counts are
/// estimates for all blocks.
struct KernelExecution {
  const Program* program = nullptr;
  std::vector<OpCount> counts;  ///< sums over all blocks, by index in the program
  MemoryCounts memory;
  std::int64_t blocks = 0;  ///< number of blocks in the grid
  std::int64_t executed_blocks = 0;
  double standard_error = 0;             ///< largest relative standard error of all metrics
  std::vector<PlaceCounts> places = {};  ///< by index in the program; empty: not requested
  std::optional<WarpTrace> trace = {};   ///< trace of the traced warp, if this kernel has the warp

  MetricValues metrics() const { return metric_values(*program, counts, memory); }
};

class GridRun {
 public:
  /// Uses `threads` host threads. Each thread calls `stop` before it executes a cluster. If `stop`
  /// returns true, the run throws Stopped.
  GridRun(const LaunchState& launch, unsigned threads, const std::function<bool()>& stop)
      : launch_(launch),
        clusters_{launch.grid.x / launch.cluster.x, launch.grid.y / launch.cluster.y,
                  launch.grid.z / launch.cluster.z},
        threads_(threads),
        stop_(stop) {}

  /// Executes all blocks. Throws the Fault of the first faulty block; with clusters, of the first
  /// cluster with a faulty block.
  KernelExecution run_all();
  /// Executes a sample of the blocks. Throws the Fault of the faulty block that was drawn first.
  KernelExecution run_some(const BlockSampling& sampling);

 private:
  class Sums;

  std::vector<MetricValues> execute(const std::vector<Stratum>& strata, Sums& all, Sums& known,
                                    std::optional<WarpTrace>& trace);
  /// Executes the clusters number(0) to number(count - 1) on several host threads. Calls done(i,
  /// cluster) after each cluster, from one thread at a time.
  void execute(std::int64_t count, const std::function<std::int64_t(std::int64_t)>& number,
               const std::function<void(std::int64_t, Cluster&)>& done);
  std::int64_t cluster_of(std::int64_t block) const;

  const LaunchState& launch_;
  Extent clusters_;  ///< number of clusters in the grid; without clusters, number of blocks
  unsigned threads_;
  const std::function<bool()>& stop_;
};

}  // namespace gpuexp::sim
