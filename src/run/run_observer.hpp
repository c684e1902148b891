#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "record/run_times.hpp"
#include "run/row.hpp"

namespace gpuexp {

/// Receives events during a run. Exceptions thrown here end the run.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void floor_measured(Mode, const std::vector<double>& /*samples_us*/) {}
  /// The group's blank rows: the rows that the results contain if the run ends now.
  virtual void group_started(const Group&, const std::vector<const Row*>&) {}
  /// The row's launch and the expected values of its elements begin, which may take seconds.
  virtual void verification_started(const Row&) {}
  virtual void sample_taken(const Cell&, int /*round*/, const Sample&) {}
  /// The SM clock under load, in MHz, during rounds `first` to `last` of the group.
  virtual void clock_read(const Group&, int /*first*/, int /*last*/, double /*mhz*/) {}
  /// Samples of the burst check, which are not among the row's samples.
  virtual void sustained(const Cell&, const std::vector<double>& /*samples_us*/) {}
  /// The row is complete except for steps after all timing: the burst check, hardware counters,
  /// and the prediction from machine code.
  virtual void row_timed(const Row&) {}
  /// Called once per row, in plan order, except that a row with pending steps follows when they are
  /// complete.
  virtual void row_finished(const Row&) {}
  virtual void count_started(const Row&) {}
  virtual void uncounted(const Row&, const std::string& /*why*/) {}
  virtual void recovered(const std::string& /*why*/) {}
  /// All measurements are complete; `rows` rows wait for predictions from machine code.
  virtual void waiting_for_predictions(std::size_t /*rows*/) {}
  /// Time spent on the group so far, which replaces earlier calls' times. `began_s` is the group's
  /// start, in seconds since the start of the run.
  virtual void group_timed(const Group&, double /*began_s*/, const RunTimes&) {}
  virtual void run_ended(const RunTimes&) {}
};

}  // namespace gpuexp
