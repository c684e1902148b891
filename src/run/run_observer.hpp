// What a run tells while it goes on.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "record/run_times.hpp"
#include "run/row.hpp"

namespace gpuexp {

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
  /// A row that is complete but for what may come after all timing: what a longer run would come
  /// to, hardware counters, and its prediction from machine code.
  virtual void row_timed(const Row&) {}
  /// Every row once: in plan order, those that wait for something after those that do not.
  virtual void row_finished(const Row&) {}
  /// The row's hardware counters are next.
  virtual void count_started(const Row&) {}
  /// The row's hardware counters could not be read.
  virtual void uncounted(const Row&, const std::string& /*why*/) {}
  /// The device was lost and taken anew.
  virtual void recovered(const std::string& /*why*/) {}
  /// Nothing is left to measure, and so many rows wait for their predictions.
  virtual void waiting_for_predictions(std::size_t /*rows*/) {}
  /// What was spent on the group so far, which began so many seconds after the run; what comes
  /// later replaces it.
  virtual void group_timed(const Group&, double /*began_s*/, const RunTimes&) {}
  virtual void run_ended(const RunTimes&) {}
};

}  // namespace gpuexp
