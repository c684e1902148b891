// How long a run takes: from its plan before it starts, and better as its rows come in.
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

/// Seconds for each cell of a plan, and what is left of the run: what the cell took in an earlier
/// run on this machine. Without one, a kernel that has not been seen is taken to need a multiple of
/// its limit, and one that has, the multiple that it needed last.
class RunEstimate {
 public:
  RunEstimate(const Plan& plan, const KernelResources& resources, RunKind kind = RunKind::measure,
              const CellTimes& times = {});

  /// What a run takes before its first cell and behind its last: starting the worker, its context
  /// on the GPU, samples of empty kernels, and reports. Of 21 runs on an H200, 0.47 to 0.77 s.
  static constexpr double kStartAndEndSeconds = 0.55;

  /// Verification, warm-up and samples; in the first cell of a problem, its references as well. 0
  /// for cells that are skipped.
  double cell_s(std::size_t cell) const;
  /// Of all cells that have not finished.
  double left_s() const;

  /// What the row's time says of other cells of its variant; reading its hardware counters is what
  /// is left of the cell.
  void timed(const Row& row);
  /// The cell has its row.
  void finished(std::size_t cell) { cells_[cell].stage = Stage::done; }

 private:
  enum class Stage { ahead, timed, done };
  struct CellEstimate {
    const Variant* variant = nullptr;
    const MeasureSettings* measure = nullptr;
    Mode mode = Mode::cold;
    bool is_counted = false;  ///< hardware counters are read
    double limit_s = 0;       ///< of a grid that fills the GPU as this one does; 0 without a limit
    double outside_s = 0;     ///< of samples: references, and host memory
    double group_cells = 1;   ///< cells of its group
    std::optional<double> known_s = {};  ///< what it took before
    bool is_known_uncounted = false;     ///< then no counters were read
    bool opens_group = false;            ///< what is done once per group is counted with this cell
    Stage stage = Stage::done;
  };

  RunKind kind_;
  double highest_mhz_;                             ///< of the device
  std::vector<CellEstimate> cells_;                ///< by Cell::index
  std::map<const Variant*, double> limit_shares_;  ///< time over limit of what has run
  std::set<const Variant*> near_cap_;              ///< whose groups are checked for a burst
};

}  // namespace gpuexp
