// What a run tells while it goes on.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "run/row.hpp"

namespace gpuexp {

/// Where the time of a run went, in seconds.
struct RunTimes {
  double set_up = 0;  ///< buffers and inputs
  double verify = 0;  ///< references, launches to be checked, comparisons
  double warm_up = 0;
  double sample = 0;      ///< between asking for rounds and having them
  double sample_gpu = 0;  ///< of that, what the GPU worked: timed launches, flushes, priming
  double sustain = 0;     ///< launches back to back, before samples and to see what they change
  double counters = 0;    ///< reading hardware counters, replays included
  double clock = 0;       ///< reading the clock, which includes waiting for long enough intervals
  double total = 0;
};

/// What the caller is told while a run goes on. What these throw ends the run.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void floor_measured(Mode, const std::vector<double>& /*samples_us*/) {}
  /// The rows of the group's cells as they would be if the run ended here: before anything ran.
  virtual void group_started(const Group&, const std::vector<const Row*>&) {}
  virtual void sample_taken(const Cell&, int /*round*/, const Sample&) {}
  /// The clock under load in these rounds of the group.
  virtual void clock_read(const Group&, int /*first*/, int /*last*/, double /*mhz*/) {}
  /// Samples taken once the group's launches had run back to back; none of the row's own.
  virtual void sustained(const Cell&, const std::vector<double>& /*samples_us*/) {}
  /// A row that is complete but for what comes after all timing: what a longer run would come to,
  /// and hardware counters.
  virtual void row_timed(const Row&) {}
  /// Every row once: in plan order, those that wait for something after those that do not.
  virtual void row_finished(const Row&) {}
  /// The row's hardware counters are next.
  virtual void count_started(const Row&) {}
  /// The row's hardware counters could not be read.
  virtual void uncounted(const Row&, const std::string& /*why*/) {}
  /// The device was lost and taken anew.
  virtual void recovered(const std::string& /*why*/) {}
  virtual void run_ended(const RunTimes&) {}
};

}  // namespace gpuexp
