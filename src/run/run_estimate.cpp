#include "run/run_estimate.hpp"

#include <algorithm>

#include "run/compared_elements.hpp"
#include "run/sample_clocks.hpp"

namespace gpuexp {

namespace {

// Assumed ratio of a kernel's time to its limit. Kernels of the lessons take 1 to 10 times their
// limit.
constexpr double kLimitShare = 3.0;
// Minimum seconds of a launch and its flush, excluding the kernel.
constexpr double kPerLaunchSeconds = 1e-4;
// Starting a worker and its GPU context: 0.41 s for each first launch of launch_overhead on an
// H200.
constexpr double kProcessSeconds = 0.4;
// Seconds for buffers, inputs, comparison of outputs and clock readings of a cell: the median over
// the configs' cells on an H200.
constexpr double kPerCellSeconds = 0.01;
// Host-resident buffers: number of passes (allocation, inputs, launches, checks) and bytes per
// second of a pass. Allocating and filling 1 GiB takes 0.5 s.
constexpr double kPassesOverHostMemory = 4;
constexpr double kHostBytesPerSecond = 8e9;
// Sampling beyond the minimum number of samples, until the median is precise enough. On an H200,
// these additional samples take three times as long as the minimum, but at most 0.1 s per group.
constexpr double kExtraSamplingFactor = 3.0;
constexpr double kMaxExtraSamplingSeconds = 0.1;

/// Seconds to compute the references of the compared elements. Each of the family's references
/// consists of a value and a magnitude.
double reference_seconds(const Family& family, const DeviceSpec& device, const void* problem,
                         const Variant& variant) {
  constexpr double kValueAndMagnitude = 2.0;
  const double rate = reference_rate(device);
  const double references = family.accuracy_reference ? 2.0 : 1.0;
  const double share = affordable_share(family, problem, variant, kMaxReferenceSeconds * rate);
  return references * kValueAndMagnitude * share * reference_operations(family, problem, variant) /
         rate;
}

double host_bytes(const Family& family, const void* problem) {
  double bytes = 0;
  for (const Buffer& buffer : family.buffers) {
    if (buffer.residence != Residence::device)
      bytes += static_cast<double>(buffer.count(problem)) *
               static_cast<double>(size_of(buffer.type(problem)));
  }
  return bytes;
}

/// The limit in seconds, divided by the share of the GPU that the grid fills, because a small grid
/// takes many times its limit. A limit by PCIe or links is not divided. 0 without a limit.
double limit_seconds(const Prediction& cell) {
  const bool scales_with_grid = cell.waves && cell.limit.by != "pcie" && cell.limit.by != "links";
  const double filled = scales_with_grid ? cell.waves->tail_efficiency_pct / 100 : 1.0;
  return 1e-6 * cell.limit.time_us.value_or(0.0) / filled;
}

}  // namespace

RunEstimate::RunEstimate(const Plan& plan, const KernelResources& resources, RunKind kind,
                         const CellTimes& times)
    : kind_(kind),
      is_simulated_(plan.device.simulated),
      highest_mhz_(plan.device.sm_clock_max_mhz) {
  const void* referenced = nullptr;
  for (const Group& group : plan.groups) {
    const Experiment& experiment = plan.experiment(group);
    for (const Cell& cell : group.cells) {
      const auto prediction = predict_cell(plan, group, cell, resources);
      CellEstimate e;
      e.variant = cell.variant;
      e.measure = &experiment.measure;
      e.mode = cell.mode;
      e.is_counted = !experiment.counters.empty();
      if (prediction) {
        e.stage = Stage::ahead;
        e.opens_group = &cell == &group.cells.front();
        e.group_cells = static_cast<double>(group.cells.size());
        e.limit_s = limit_seconds(*prediction);
        e.known_s = times.find(plan, group, cell, kind);
        if (!e.known_s && e.is_counted) {
          e.known_s = times.find(plan, group, cell, kind, false);
          e.is_known_uncounted = e.known_s.has_value();
        }
        // Groups that share a problem share its references.
        if (referenced != group.problem.get())
          e.outside_s += reference_seconds(*experiment.family, plan.device, group.problem.get(),
                                           *cell.variant);
        referenced = group.problem.get();
        e.outside_s += kPassesOverHostMemory * host_bytes(*experiment.family, group.problem.get()) /
                       (kHostBytesPerSecond * e.group_cells);
      }
      cells_.push_back(e);
    }
  }
}

double RunEstimate::cell_s(std::size_t cell) const {
  const CellEstimate& e = cells_[cell];
  if (e.stage == Stage::done) return 0.0;
  if (e.stage == Stage::ahead && e.known_s && !e.is_known_uncounted) return *e.known_s;
  const auto seen = limit_shares_.find(e.variant);
  const double share = seen != limit_shares_.end() ? seen->second : kLimitShare;
  const double launch_s = share * e.limit_s + kPerLaunchSeconds;
  const double outside_s = kPerCellSeconds + e.outside_s;
  if (kind_ == RunKind::verify || e.mode == Mode::profile) return outside_s + launch_s;
  const MeasureSettings& m = *e.measure;
  // A warm sample includes a priming launch; a graph replay repeats a short launch.
  constexpr double kShortestReplaySeconds = 1e-3;
  const double steady_s = e.mode == Mode::warm      ? 2 * launch_s
                          : e.mode == Mode::graph   ? std::max(launch_s, kShortestReplaySeconds)
                          : is_back_to_back(e.mode) ? 2 * kBackToBackLaunches * launch_s
                                                    : launch_s;
  const bool has_own_process = e.variant->timing == Timing::fresh_process;
  const double sample_s = steady_s + (has_own_process ? kProcessSeconds : 0.0);
  const double fewest_s = std::max(sample_s * m.min_samples, m.min_seconds);
  const double longer_s =
      std::min(kExtraSamplingFactor * fewest_s, kMaxExtraSamplingSeconds / e.group_cells);
  const double sampling_s = std::min(fewest_s + longer_s, m.max_seconds);
  constexpr int kVerifications = 2;
  const double timing_s = outside_s + (e.opens_group ? m.sustain_seconds : 0.0) + sampling_s +
                          m.warm_up_s(launch_s) + kVerifications * launch_s;
  // Counters are read in several passes, because a GPU cannot count all of them at once.
  constexpr double kPasses = 8;
  constexpr double kCountingSeconds = 0.1;
  const double counting_s = e.is_counted ? kCountingSeconds + kPasses * sample_s : 0.0;
  if (e.stage == Stage::ahead && e.known_s) return *e.known_s + counting_s;
  const double check_s =
      e.opens_group && near_cap_.count(e.variant) > 0 ? m.burst_check_seconds : 0.0;
  return (e.stage == Stage::ahead ? timing_s : 0.0) + check_s + counting_s;
}

std::optional<double> RunEstimate::left_s() const {
  if (is_simulated_) return std::nullopt;
  double seconds = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i)
    seconds += cell_s(i);
  return seconds;
}

void RunEstimate::timed(const Row& row) {
  CellEstimate& e = cells_[row.cell->index];
  if (row.time_us && e.limit_s > 0)
    limit_shares_[e.variant] = 1e-6 * row.time_us->median / e.limit_s;
  if (nears_power_cap(row.telemetry, row.clocks, highest_mhz_)) near_cap_.insert(e.variant);
  e.stage = Stage::timed;
}

}  // namespace gpuexp
