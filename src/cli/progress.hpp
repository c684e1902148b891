// Progress on stderr while a run goes on.
#pragma once

#include <chrono>
#include <string>

#include "core/runner.hpp"

namespace gpuexp::cli {

/// One line that is overwritten: cell, count and time left. Silent unless stderr is a terminal.
class Progress {
 public:
  /// `total_s`: what the plan estimates for the whole run.
  Progress(std::size_t cells, double total_s, bool enabled);
  ~Progress();

  void started(const std::string& key, double estimated_s);
  void finished();

 private:
  void draw(const std::string& key) const;
  void clear() const;
  double elapsed_s() const;

  std::size_t cells_;
  std::size_t done_ = 0;
  double estimated_total_s_;
  double estimated_done_s_ = 0;
  double estimated_current_s_ = 0;
  bool enabled_;
  std::chrono::steady_clock::time_point start_;
};

/// True when stderr is a terminal.
bool stderr_is_terminal();

}  // namespace gpuexp::cli
