#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "plan/plan.hpp"
#include "run/cell_times.hpp"
#include "run/row.hpp"
#include "run/run_options.hpp"

namespace gpuexp {

/// Estimates the seconds of each cell and the remaining time of the run. Cells of earlier runs
/// have their recorded time. Any other kernel is assumed to take a multiple of its limit: the
/// multiple of its variant's last completed cell, or a fixed one.
class RunEstimate {
 public:
  RunEstimate(const Plan& plan, const KernelResources& resources, RunKind kind = RunKind::measure,
              const CellTimes& times = {});

  /// Time before the first cell and after the last: starting the worker, creating its context,
  /// sampling empty kernels, and writing reports. It was 0.47 to 0.77 s in 21 runs on an H200.
  static constexpr double kStartAndEndSeconds = 0.55;

  /// Remaining seconds of the cell: verification, warm-up, samples, burst check and counters, as
  /// far as they have not run; 0 for a skipped cell. The first cell of a problem includes the
  /// references.
  double cell_s(std::size_t cell) const;
  /// Empty for a simulated device: the estimates are of the GPU's time, which says nothing about
  /// the CPU's.
  std::optional<double> left_s() const;

  /// Uses the row's time to refine the estimates of other cells of its variant. The estimate of the
  /// row's own cell is then only the time of the burst check and of counters.
  void timed(const Row& row);
  void finished(std::size_t cell) { cells_[cell].stage = Stage::done; }

 private:
  enum class Stage { ahead, timed, done };
  struct CellEstimate {
    const Variant* variant = nullptr;
    const MeasureSettings* measure = nullptr;
    Mode mode = Mode::cold;
    bool is_counted = false;  ///< hardware counters are read
    double limit_s = 0;       ///< limit / share of the GPU that the grid fills; 0 without a limit
    double outside_s = 0;     ///< time besides samples: references and host memory
    double group_cells = 1;   ///< number of cells in its group
    std::optional<double> known_s = {};  ///< duration in an earlier run
    bool is_known_uncounted = false;     ///< known_s excludes reading counters
    bool opens_group = false;            ///< includes the work done once per group
    Stage stage = Stage::done;
  };

  RunKind kind_;
  bool is_simulated_;
  double highest_mhz_;                             ///< maximum SM clock of the device
  std::vector<CellEstimate> cells_;                ///< by Cell::index
  std::map<const Variant*, double> limit_shares_;  ///< time / limit_s of the last timed row
  std::set<const Variant*> near_cap_;              ///< variants of groups near the power cap
};

}  // namespace gpuexp
