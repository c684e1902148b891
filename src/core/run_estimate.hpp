// How long a run takes: from its plan before it starts, and better as its rows come in.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/plan.hpp"
#include "core/row.hpp"
#include "core/runner.hpp"

namespace gpuexp {

/// Seconds for each cell of a plan, and what is left of the run. A kernel that has not been seen is
/// taken to need a multiple of its limit, and one that has, the multiple that it needed last.
class RunEstimate {
 public:
  RunEstimate(const Plan& plan, const KernelResources& resources, RunKind kind = RunKind::measure);

  /// Verification, warm-up and samples; in the first cell of a problem, its references as well. 0
  /// for cells that are skipped.
  double cell_s(std::size_t cell) const;
  /// Of all cells that have not finished.
  double left_s() const;

  /// The cell has its row.
  void finished(std::size_t cell) { cells_[cell].ahead = false; }
  /// The same, and what the row says of other cells of its variant.
  void learn(const Row& row);

 private:
  struct CellEstimate {
    const Variant* variant;
    const MeasureSettings* measure;
    Mode mode;
    double limit_s;  ///< of a grid that fills the GPU as this one does; 0 without a limit
    double reference_s;
    bool ahead;  ///< it will run, and has not
  };

  RunKind kind_;
  std::vector<CellEstimate> cells_;                ///< by Cell::index
  std::map<const Variant*, double> limit_shares_;  ///< time over limit of what has run
};

}  // namespace gpuexp
