// Progress on stderr while a run goes on.
#pragma once

#include <chrono>
#include <string>

namespace gpuexp::cli {

/// One line that is overwritten: cell, count and time left. Silent unless enabled.
class Progress {
 public:
  Progress(std::size_t cells, bool enabled);
  ~Progress();

  /// There is a group that the plan thinks takes so long.
  void expect(double estimated_s) { estimated_total_s_ += estimated_s; }
  /// A group of `cells` starts, of which `key` is the first.
  void started(const std::string& key, std::size_t cells, double estimated_s);
  /// One of its cells has its row.
  void finished() { ++done_; }

 private:
  void draw(const std::string& key, std::size_t cells) const;
  void clear() const;
  double elapsed_s() const;

  std::size_t cells_;
  std::size_t done_ = 0;
  double estimated_total_s_ = 0;
  double estimated_done_s_ = 0;
  double estimated_current_s_ = 0;
  bool enabled_;
  std::chrono::steady_clock::time_point start_;
};

/// True when stderr is a terminal.
bool stderr_is_terminal();

}  // namespace gpuexp::cli
