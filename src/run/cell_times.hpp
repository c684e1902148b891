#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "plan/plan.hpp"
#include "run/run_options.hpp"

namespace gpuexp {

/// Seconds per cell, stored in one file per GPU model. Cells that this machine has not run use the
/// durations recorded on another GPU of the model (configs/cell_times). No plan can predict a
/// duration, because the number of samples depends on the scatter of the times. Cells whose problem
/// is read from a file are not stored, because another file may have the same name.
class CellTimes {
 public:
  CellTimes() = default;
  /// Reads `file`, if it exists, and then `recorded` for the cells that `file` lacks. Ignores
  /// lines other than "KEY SECONDS".
  explicit CellTimes(std::filesystem::path file, const std::filesystem::path& recorded = {});

  /// Seconds of the cell, or empty if unknown. If `counted`, the duration includes reading the
  /// experiment's counters.
  std::optional<double> find(const Plan& plan, const Group& group, const Cell& cell, RunKind kind,
                             bool counted = true) const;
  void keep(const Plan& plan, const Group& group, const Cell& cell, RunKind kind, double seconds);
  /// Adds the durations of keep() to the file, which other runs may have changed meanwhile. Ignores
  /// errors, which make only later estimates worse.
  void save() const;

 private:
  std::filesystem::path file_;
  std::map<std::string, double> read_;  ///< by key
  std::map<std::string, double> kept_;
};

}  // namespace gpuexp
