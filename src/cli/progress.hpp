#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "run/run_estimate.hpp"

namespace gpuexp::cli {

/// One overwritten line: number of cells, remaining time (unless the run is simulated) and current
/// cell. Prints nothing unless enabled.
class Progress {
 public:
  Progress(const Plan& plan, const KernelResources& resources, RunKind kind, const CellTimes& times,
           bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void kept(std::size_t cell);
  void started(const std::vector<const Row*>& rows);
  /// Shows the verified row until the next tick.
  void verifying(const Row& row);
  /// Redraws the line if it was last drawn at least 0.1 s ago.
  void tick();
  /// All launches have ended; `rows` rows wait for predictions.
  void waiting(std::size_t rows);
  void timed(const Row& row) { estimate_.timed(row); }
  void finished(const Row& row);

 private:
  void draw(const std::string& what);

  std::size_t cells_;
  RunEstimate estimate_;
  bool enabled_;
  std::size_t done_ = 0;
  std::string at_;      ///< key of the running cell, or what the run waits for
  double group_s_ = 0;  ///< expected seconds of the running group
  double group_started_s_ = 0;
  double drawn_s_ = 0;
};

bool stderr_is_terminal();

/// The overwritten line "WHAT …", for as long as this object lives; only on a terminal.
class WorkOnTerminal {
 public:
  explicit WorkOnTerminal(const std::string& what);
  ~WorkOnTerminal();
  WorkOnTerminal(const WorkOnTerminal&) = delete;
  WorkOnTerminal& operator=(const WorkOnTerminal&) = delete;
};

/// The overwritten line "WHAT N of ALL"; only on a terminal.
class CountOnTerminal {
 public:
  CountOnTerminal(const char* what, std::size_t all) : what_(what), all_(all) {}
  ~CountOnTerminal();
  CountOnTerminal(const CountOnTerminal&) = delete;
  CountOnTerminal& operator=(const CountOnTerminal&) = delete;

  void add();

 private:
  const char* what_;
  std::size_t all_;
  std::size_t done_ = 0;
  double drawn_s_ = 0;
};

}  // namespace gpuexp::cli
