// Executes a grid: all of its blocks, or some that stand for the others.
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

/// How blocks are drawn of grids that are not executed whole; of a grid of clusters, whole ones.
struct BlockSampling {
  /// Blocks are drawn until the standard error of each of metric_names() is below this share of it,
  double standard_error = 0.003;
  /// and lanes have executed so many instructions: about a tenth of a second.
  double least_lane_instructions = 3e7;
  std::int64_t blocks = 0;  ///< about so many are drawn instead; 0: as many as that takes
  std::uint64_t seed = 1;
};

/// What one kernel of a launch did. Of a grid that was not executed whole, what all blocks would
/// do, by those that were executed.
struct KernelExecution {
  const Program* program = nullptr;
  std::vector<OpCount> counts;  ///< by place in the program, over all blocks
  MemoryCounts memory;
  std::int64_t blocks = 0;               ///< of the grid
  std::int64_t executed_blocks = 0;      ///< of these
  double standard_error = 0;             ///< of the metric that is known worst, over its value
  std::vector<PlaceCounts> places = {};  ///< by place in the program; empty: not asked for
  std::optional<WarpTrace> trace = {};   ///< of the traced warp, if the kernel has it

  MetricValues metrics() const { return metric_values(*program, counts, memory); }
};

/// The run was ended from outside.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class GridRun {
 public:
  /// `stop` is asked between blocks, by all of so many host threads; true ends the run with
  /// Stopped.
  GridRun(const LaunchState& launch, unsigned threads, const std::function<bool()>& stop)
      : launch_(launch),
        clusters_{launch.grid.x / launch.cluster.x, launch.grid.y / launch.cluster.y,
                  launch.grid.z / launch.cluster.z},
        threads_(threads),
        stop_(stop) {}

  /// Throws Fault, of several blocks that have one the first block's.
  KernelExecution run_all();
  /// Likewise. Every block that is executed is executed once.
  KernelExecution run_some(const BlockSampling& sampling);

 private:
  class Sums;

  std::vector<MetricValues> execute(const std::vector<Stratum>& strata, Sums& all, Sums& known,
                                    std::optional<WarpTrace>& trace);
  /// Calls done(i, cluster) with each cluster of those that number(i) names for i < count, after it
  /// was executed; by several threads, one at a time.
  void execute(std::int64_t count, const std::function<std::int64_t(std::int64_t)>& number,
               const std::function<void(std::int64_t, Cluster&)>& done);
  /// That the block is in, by their order in the grid.
  std::int64_t cluster_of(std::int64_t block) const;

  const LaunchState& launch_;
  Extent clusters_;  ///< of the grid: its blocks, where there are no clusters
  unsigned threads_;
  const std::function<bool()>& stop_;
};

}  // namespace gpuexp::sim
