// Executes a grid: all of its blocks, or a sample that represents the others.
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

/// The sampling of grids that are not executed whole. Grids of clusters are sampled by cluster.
struct BlockSampling {
  /// Blocks are drawn until each of metric_names() has at most this relative standard error,
  double standard_error = 0.003;
  /// and until lanes have executed this number of instructions, in about a tenth of a second.
  double min_lane_instructions = 3e7;
  std::int64_t blocks = 0;  ///< approximate number to draw instead; 0: use the limits above
  std::uint64_t seed = 1;
};

/// What one kernel of a launch did. If only a sample of its grid was executed, the counts estimate
/// those of all blocks.
struct KernelExecution {
  const Program* program = nullptr;
  std::vector<OpCount> counts;  ///< by index in the program, over all blocks
  MemoryCounts memory;
  std::int64_t blocks = 0;               ///< in the grid
  std::int64_t executed_blocks = 0;      ///< blocks that were executed
  double standard_error = 0;             ///< largest relative standard error of a metric
  std::vector<PlaceCounts> places = {};  ///< by index in the program; empty: not requested
  std::optional<WarpTrace> trace = {};   ///< trace of the traced warp, if this kernel has it

  MetricValues metrics() const { return metric_values(*program, counts, memory); }
};

/// Thrown if the run was ended from outside.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class GridRun {
 public:
  /// The run uses `threads` host threads. Each calls `stop` before a cluster; if `stop` returns
  /// true, the run ends with Stopped.
  GridRun(const LaunchState& launch, unsigned threads, const std::function<bool()>& stop)
      : launch_(launch),
        clusters_{launch.grid.x / launch.cluster.x, launch.grid.y / launch.cluster.y,
                  launch.grid.z / launch.cluster.z},
        threads_(threads),
        stop_(stop) {}

  /// Executes all blocks. Throws Fault; if several blocks have one, that of the first block.
  KernelExecution run_all();
  /// Executes a sample of the blocks, none of them twice. Throws Fault; if several blocks have one,
  /// that of the block drawn first.
  KernelExecution run_some(const BlockSampling& sampling);

 private:
  class Sums;

  std::vector<MetricValues> execute(const std::vector<Stratum>& strata, Sums& all, Sums& known,
                                    std::optional<WarpTrace>& trace);
  /// Executes the clusters number(0) to number(count - 1) on several threads. Calls done(i,
  /// cluster) after each, by one thread at a time.
  void execute(std::int64_t count, const std::function<std::int64_t(std::int64_t)>& number,
               const std::function<void(std::int64_t, Cluster&)>& done);
  /// The number of the block's cluster, in the order of the grid.
  std::int64_t cluster_of(std::int64_t block) const;

  const LaunchState& launch_;
  Extent clusters_;  ///< clusters in the grid; without clusters, blocks
  unsigned threads_;
  const std::function<bool()>& stop_;
};

}  // namespace gpuexp::sim
