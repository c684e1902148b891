// Progress on stderr while a run goes on.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "run/run_estimate.hpp"

namespace gpuexp::cli {

/// One line that is overwritten: cell, count and time left. Silent unless enabled.
class Progress {
 public:
  Progress(const Plan& plan, const KernelResources& resources, RunKind kind, const CellTimes& times,
           bool enabled);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The cell has its row from an earlier run.
  void kept(std::size_t cell);
  /// The cells of these rows are next, or what is left of them.
  void started(const std::vector<const Row*>& rows);
  /// Something went on; draws the line anew if it is older than a reader would notice.
  void tick();
  /// Nothing runs any more, and so many rows wait for their predictions.
  void waiting(std::size_t rows);
  void timed(const Row& row) { estimate_.timed(row); }
  void finished(const Row& row);

 private:
  void draw();

  std::size_t cells_;
  RunEstimate estimate_;
  bool enabled_;
  std::size_t done_ = 0;
  std::string at_;      ///< what is running
  double group_s_ = 0;  ///< what it is expected to take
  double group_started_s_ = 0;
  double drawn_s_ = 0;
};

/// True when stderr is a terminal.
bool stderr_is_terminal();

/// One line on stderr that is overwritten: how many of so many are done. Silent but on a terminal.
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
