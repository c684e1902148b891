// Durations of cells in earlier runs on this machine.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "plan/plan.hpp"
#include "run/run_options.hpp"

namespace gpuexp {

/// Seconds per cell, stored in one file per GPU model. For cells that this machine has not run, the
/// durations recorded on another GPU of the model apply (configs/cell_times). No plan can predict
/// these durations, because the number of samples depends on the scatter of the times. Cells whose
/// problem is read from a file are not stored, since another file may have the same name.
class CellTimes {
 public:
  /// Stores nothing.
  CellTimes() = default;
  /// Reads `file`, if it exists; cells missing there are read from `recorded`. Ignores lines other
  /// than "KEY SECONDS".
  explicit CellTimes(std::filesystem::path file, const std::filesystem::path& recorded = {});

  /// Seconds of the cell, or empty if unknown. `counted` includes the time to read the experiment's
  /// counters.
  std::optional<double> find(const Plan& plan, const Group& group, const Cell& cell, RunKind kind,
                             bool counted = true) const;
  void keep(const Plan& plan, const Group& group, const Cell& cell, RunKind kind, double seconds);
  /// Writes the stored cells to the file and keeps the cells that other runs have written to it
  /// meanwhile. Errors are ignored: they only make later estimates worse.
  void save() const;

 private:
  std::filesystem::path file_;
  std::map<std::string, double> read_;  ///< by key
  std::map<std::string, double> kept_;
};

}  // namespace gpuexp
