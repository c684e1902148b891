// The main loop: groups in plan order. The variants of a group are verified one by one, sampled in
// interleaved rounds, so that drift hits all alike, and verified again.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "plan/plan.hpp"
#include "record/row.hpp"
#include "run/executor.hpp"

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

enum class RunKind {
  measure,  ///< verify, warm up, sample, verify again; cells in Mode::profile are launched once
  verify,   ///< verify alone
};

struct RunOptions {
  RunKind kind = RunKind::measure;
  std::uint64_t seed = 1;
  /// Samples of an earlier run to go on from, by Cell::index.
  std::map<std::size_t, std::vector<double>> prior_samples_us;
  /// Cells that have their row already, by Cell::index: their groups are left out where no other
  /// cell is left, and no row is made for them.
  std::set<std::size_t> finished;
  bool counters = true;  ///< read those that experiments ask for
  /// Metrics that the GPU does not have; counters made from them stay empty.
  std::set<std::string> missing_metrics;
  /// Asked between samples; true ends the run, and the cells that had no turn become not_run.
  std::function<bool()> interrupted = [] { return false; };
  /// Seconds on a steady clock; tests script it.
  std::function<double()> now_s;
  /// What was known of the device between two such moments; may be empty.
  std::function<Telemetry(double from_s, double to_s)> telemetry;
};

/// Runs the plan and returns one row per cell that is not finished, in plan order. A DeviceError
/// costs its cell; when the device was lost and the executor cannot recover, the remaining cells
/// are not_run. Whatever else throws passes through.
std::vector<Row> run_plan(const Plan& plan, const KernelResources& resources, Executor& executor,
                          Tracer& tracer, RunObserver& observer, const RunOptions& options);

}  // namespace gpuexp
