// What cells took in earlier runs on this machine.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "plan/plan.hpp"
#include "run/run_options.hpp"

namespace gpuexp {

/// Seconds of cells, kept in a file for each kind of GPU. What this machine has not run yet,
/// another of the kind may have: the configs' cells are recorded in configs/cell_times. How often a
/// cell is sampled until its median is known depends on how its times scatter, which no plan can
/// tell. Cells whose problem is read from a file are left out: another file may have its name.
class CellTimes {
 public:
  /// Keeps nothing.
  CellTimes() = default;
  /// Reads the file, if there is one, and of cells that it does not have, `recorded`. Lines other
  /// than "KEY SECONDS" are left out.
  explicit CellTimes(std::filesystem::path file, const std::filesystem::path& recorded = {});

  /// `counted`: with the experiment's counters; else as if it had none.
  std::optional<double> find(const Plan& plan, const Group& group, const Cell& cell, RunKind kind,
                             bool counted = true) const;
  void keep(const Plan& plan, const Group& group, const Cell& cell, RunKind kind, double seconds);
  /// Writes what was kept to the file, together with what other runs have written there meanwhile.
  /// Where that fails, later estimates are worse, and nothing else.
  void save() const;

 private:
  std::filesystem::path file_;
  std::map<std::string, double> read_;  ///< by key, as are the next
  std::map<std::string, double> kept_;
};

}  // namespace gpuexp
