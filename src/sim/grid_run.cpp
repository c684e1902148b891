#include "sim/grid_run.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>

#include "base/parallel.hpp"
#include "sim/block_draw.hpp"
#include "sim/global_waits.hpp"

namespace gpuexp::sim {

/// Counts summed over blocks. The weight of a sampled block is the number of blocks that it
/// represents, in halves: two blocks that represent n have weight n/2 each.
class GridRun::Sums {
 public:
  explicit Sums(std::size_t ops) : counts_(ops) {}

  void add(const Cluster& cluster, std::uint64_t halves) {
    for (const auto& block : cluster.blocks())
      add(*block, halves);
  }

  void add(const Block& block, std::uint64_t halves) {
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      counts_[i].warps += halves * block.counts[i].warps;
      counts_[i].lanes += halves * block.counts[i].lanes;
      counts_[i].predicated_lanes += halves * block.counts[i].predicated_lanes;
    }
    for (const MemoryCounts::Count count : MemoryCounts::kAll)
      memory_.*count += halves * block.memory.*count;
    if (!block.observed) return;
    places_.resize(block.observed->places.size());
    for (std::size_t i = 0; i < places_.size(); ++i)
      places_[i].add(block.observed->places[i], halves);
  }

  void write_to(KernelExecution& execution) const {
    const auto whole = [](std::uint64_t halves) { return (halves + 1) / 2; };
    execution.counts.clear();
    for (const OpCount& count : counts_)
      execution.counts.push_back(
          {whole(count.warps), whole(count.lanes), whole(count.predicated_lanes)});
    for (const MemoryCounts::Count count : MemoryCounts::kAll)
      execution.memory.*count = whole(memory_.*count);
    execution.places = places_;
    for (PlaceCounts& place : execution.places)
      place.halve();
  }

 private:
  std::vector<OpCount> counts_;
  MemoryCounts memory_;
  std::vector<PlaceCounts> places_;
};

namespace {

constexpr std::uint64_t kOnce = 2;  // weight 1, in halves

MetricValues metrics_of(const Program& program, const Cluster& cluster) {
  if (cluster.blocks().size() == 1) {
    const Block& block = *cluster.block(0);
    return metric_values(program, block.counts, block.memory);
  }
  std::vector<OpCount> counts(program.ops.size());
  MemoryCounts memory;
  for (const auto& block : cluster.blocks()) {
    memory += block->memory;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i].warps += block->counts[i].warps;
      counts[i].lanes += block->counts[i].lanes;
      counts[i].predicated_lanes += block->counts[i].predicated_lanes;
    }
  }
  return metric_values(program, counts, memory);
}

void move_trace(const Cluster& cluster, std::optional<WarpTrace>& trace) {
  for (const auto& block : cluster.blocks()) {
    if (block->observed && block->observed->trace) trace = std::move(block->observed->trace);
  }
}

class Uncertainty {
 public:
  /// `known`: sums of the metrics over the blocks drawn before, which are exact.
  explicit Uncertainty(const MetricValues& known) : total_(known) {}

  void add(const Stratum& stratum, std::span<const MetricValues> drawn) {
    const auto n = static_cast<double>(stratum.blocks);
    Region& region = regions_[static_cast<std::size_t>(stratum.tails)];
    for (std::size_t m = 0; m < kMetrics; ++m) {
      double sum = 0;
      for (const MetricValues& values : drawn) {
        sum += values[m];
        region.lowest[m] = region.blocks == 0 ? values[m] : std::min(region.lowest[m], values[m]);
        region.highest[m] = region.blocks == 0 ? values[m] : std::max(region.highest[m], values[m]);
      }
      total_[m] += n * sum / static_cast<double>(drawn.size());
      // Variance for two draws per stratum, with the finite population correction (Cochran,
      // Sampling Techniques, 3rd ed., section 5.3).
      if (drawn.size() == 2) {
        const double difference = drawn[0][m] - drawn[1][m];
        variance_[m] += n * (n - 2) * difference * difference / 4;
      }
    }
    region.blocks += n;
    region.pairs += drawn.size() == 2;
  }

  double standard_error() const {
    return worst([&](std::size_t m) { return std::sqrt(variance_[m]); });
  }
  /// Largest relative width of the range of a total, if the values of all blocks are between the
  /// lowest and the highest drawn value.
  double spread() const {
    return worst([&](std::size_t m) {
      double spread = 0;
      for (const Region& region : regions_)
        spread += region.blocks * (region.highest[m] - region.lowest[m]);
      return spread;
    });
  }
  int pairs() const {
    return std::max_element(regions_.begin(), regions_.end(),
                            [](const Region& a, const Region& b) { return a.blocks < b.blocks; })
        ->pairs;
  }

 private:
  struct Region {
    double blocks = 0;
    int pairs = 0;
    MetricValues lowest{};
    MetricValues highest{};
  };

  template <class Of>
  double worst(const Of& of) const {
    double worst = 0;
    for (std::size_t m = 0; m < kMetrics; ++m) {
      if (total_[m] > 0) worst = std::max(worst, of(m) / total_[m]);
    }
    return worst;
  }

  MetricValues total_;
  MetricValues variance_{};
  std::array<Region, 8> regions_{};
};

// A few pairs may be equal by chance, so fewer than kMinPairs are sufficient only if all drawn
// blocks are nearly equal.
bool is_precise_enough(const Uncertainty& uncertainty, const BlockSampling& sampling) {
  constexpr int kMinPairs = 10;
  return uncertainty.standard_error() <= sampling.standard_error &&
         (uncertainty.pairs() >= kMinPairs || uncertainty.spread() <= sampling.standard_error);
}

double lane_instructions(const MetricValues& metrics) {
  const auto names = metric_names();
  const auto at = std::find(names.begin(), names.end(), "smsp__thread_inst_executed.sum");
  return metrics[static_cast<std::size_t>(at - names.begin())];
}

}  // namespace

std::int64_t GridRun::cluster_of(std::int64_t block) const {
  const Extent at = place_at(launch_.grid, block);
  const Extent& size = launch_.cluster;
  return number_in(clusters_, {at.x / size.x, at.y / size.y, at.z / size.z});
}

// Threads start the clusters in order. When a block faults, all earlier clusters have started, so
// the fault of the first faulty block is reported for any number of threads.
void GridRun::execute(std::int64_t count, const std::function<std::int64_t(std::int64_t)>& number,
                      const std::function<void(std::int64_t, Cluster&)>& done) {
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> end{count};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto execute_one = [&](std::int64_t i) {
    if (stop_()) throw Stopped("the run was ended");
    Cluster cluster(launch_, place_at(clusters_, number(i)));
    try {
      cluster.run();
    } catch (Stopped& stopped) {
      stopped.may_await_later_block = next < count && awaits_global(cluster);
      throw;
    } catch (Fault& fault) {
      const bool is_endless = fault.kind == FaultKind::endless;
      if (is_endless && next < count && awaits_global(cluster)) fault.add_words(kAwaitsLaterBlock);
      throw;
    }
    const std::lock_guard lock(mutex);
    done(i, cluster);
  };
  on_threads(static_cast<unsigned>(std::min<std::int64_t>(threads_, count)), [&] {
    for (std::int64_t i = next++; i < end; i = next++) {
      try {
        execute_one(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i >= end) continue;
        end = i;
        failure = std::current_exception();
      }
    }
  });
  if (failure) std::rethrow_exception(failure);
}

KernelExecution GridRun::run_all() {
  const std::int64_t blocks = launch_.grid.count();
  KernelExecution execution;
  execution.program = launch_.program;
  execution.blocks = execution.executed_blocks = blocks;
  Sums all(launch_.program->ops.size());
  execute(
      clusters_.count(), [](std::int64_t i) { return i; },
      [&](std::int64_t, Cluster& cluster) {
        all.add(cluster, kOnce);
        move_trace(cluster, execution.trace);
      });
  all.write_to(execution);
  return execution;
}

KernelExecution GridRun::run_some(const BlockSampling& sampling) {
  KernelExecution execution;
  execution.program = launch_.program;
  execution.blocks = launch_.grid.count();
  std::vector<std::int64_t> required{0};
  if (launch_.observation && launch_.observation->warp &&
      launch_.observation->warp->block < execution.blocks)
    required.push_back(cluster_of(launch_.observation->warp->block));
  const std::int64_t cluster_blocks = launch_.cluster.count();
  BlockDraw draw(clusters_, sampling.seed, std::move(required));
  Sums known(launch_.program->ops.size());  // sums over blocks drawn before, with weight 1
  MetricValues known_metrics{};
  std::int64_t intervals = std::max<std::int64_t>(2, sampling.blocks / cluster_blocks / 2);
  for (;;) {
    const std::vector<Stratum> strata = draw.draw(intervals);
    Sums all = known;
    const std::vector<MetricValues> drawn = execute(strata, all, known, execution.trace);
    Uncertainty uncertainty(known_metrics);
    std::size_t next = 0;
    for (const Stratum& stratum : strata) {
      uncertainty.add(stratum, std::span(drawn).subspan(next, stratum.drawn.size()));
      next += stratum.drawn.size();
    }
    for (const MetricValues& values : drawn) {
      for (std::size_t m = 0; m < kMetrics; ++m)
        known_metrics[m] += values[m];
    }
    all.write_to(execution);
    execution.executed_blocks += static_cast<std::int64_t>(drawn.size()) * cluster_blocks;
    execution.standard_error = uncertainty.standard_error();
    const bool is_enough = is_precise_enough(uncertainty, sampling) &&
                           lane_instructions(known_metrics) >= sampling.min_lane_instructions;
    const bool is_whole = execution.executed_blocks == execution.blocks;
    if (sampling.blocks > 0 || is_enough || is_whole) return execution;
    intervals *= 2;
  }
}

// Returns the metrics of each drawn cluster. Adds the cluster's counts to `all`, weighted by the
// number of clusters that it represents, and to `known`, with weight 1.
std::vector<MetricValues> GridRun::execute(const std::vector<Stratum>& strata, Sums& all,
                                           Sums& known, std::optional<WarpTrace>& trace) {
  struct Drawn {
    std::int64_t number;
    std::uint64_t halves;
  };
  std::vector<Drawn> drawn;
  for (const Stratum& stratum : strata) {
    const auto halves = static_cast<std::uint64_t>(stratum.blocks) * 2 / stratum.drawn.size();
    for (const std::int64_t number : stratum.drawn)
      drawn.push_back({number, halves});
  }
  std::vector<MetricValues> metrics(drawn.size());
  execute(
      static_cast<std::int64_t>(drawn.size()),
      [&](std::int64_t i) { return drawn[static_cast<std::size_t>(i)].number; },
      [&](std::int64_t i, Cluster& cluster) {
        const auto place = static_cast<std::size_t>(i);
        all.add(cluster, drawn[place].halves);
        known.add(cluster, kOnce);
        metrics[place] = metrics_of(*launch_.program, cluster);
        move_trace(cluster, trace);
      });
  return metrics;
}

}  // namespace gpuexp::sim
