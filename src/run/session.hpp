// State shared by the groups of a run: the device, the set-up problem and the time spent.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "run/executor.hpp"
#include "run/run_observer.hpp"
#include "run/run_options.hpp"
#include "run/tracer.hpp"

namespace gpuexp {

inline WarmUp warm_up_of(const MeasureSettings& settings) {
  return {static_cast<std::size_t>(settings.warmup_launches), settings.warmup_seconds};
}

/// The device was lost earlier and cannot be recovered.
class DeviceGone : public DeviceError {
 public:
  explicit DeviceGone(const std::string& what) : DeviceError(what, DeviceFault::lost) {}
};

/// The device during a run: the set-up problem, recovery from device loss, and launch overhead.
class Session {
 public:
  /// `simulated`: a process on the CPU is the device.
  Session(Executor& executor, Tracer& tracer, RunObserver& observer, const RunOptions& options,
          bool simulated, std::function<double()> now_s);

  /// Measures floor_us(), the median time of an empty kernel in the mode. On failure, floor_us() is
  /// empty.
  void measure_floor(Mode mode);
  std::optional<double> floor_us(Mode mode) const;
  /// Timer resolution, in microseconds, of a sample that is the mean over `launches` launches; 0 if
  /// unknown, and for samples on the host's clock.
  double quantum_us(Mode mode, int launches) const;

  /// Sets up the problem unless it is set up already; groups that differ only in the mode share
  /// it. Recovers a lost device first. Throws DeviceError.
  void set_up(const Family& family, const Values& values);

  /// Hardware counts of each launch. Recovers a lost device first, and releases the set-up
  /// problem. Throws DeviceError.
  std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches,
                                  const std::vector<std::string>& metrics);

  /// Runs the variants back to back for `seconds`, or until the run ends. All variants must be
  /// warmed up. Throws DeviceError.
  void run_back_to_back(const std::vector<const Variant*>& variants, Mode mode, double seconds);

  /// Continues in a process that has launched nothing; false if no such process is available.
  bool restart();

  /// Must be called for every DeviceError: the problem is then set up again, and a lost device is
  /// recovered first.
  void failed(const DeviceError& error);

  /// Why no further step can run; empty while the run can continue.
  std::string end_reason();
  bool interrupted();

  int epoch() const { return epoch_; }

  Executor& executor() { return executor_; }
  LaunchTimer& timer() { return *executor_.timer(); }
  Tracer& tracer() { return tracer_; }
  RunObserver& observer() { return observer_; }
  const RunOptions& options() const { return options_; }
  double now_s() const { return now_s_(); }

  /// From now on, also adds times to `group`; null: only to the run.
  void time_for(RunTimes* group) { group_times_ = group; }

  /// Adds the step's duration to one of the run's times, even if the step throws.
  template <class Step>
  void timed(double RunTimes::*time, const Step& step) {
    const double start_s = now_s();
    const auto add = [&] { add_time(time, now_s() - start_s); };
    try {
      step();
    } catch (...) {
      add();
      throw;
    }
    add();
  }
  void add_time(double RunTimes::*time, double seconds) {
    times_.*time += seconds;
    if (group_times_) group_times_->*time += seconds;
  }
  const RunTimes& times() const { return times_; }

 private:
  void require_device();
  /// Why the cells after a loss are not run.
  std::string loss() const;

  Executor& executor_;
  Tracer& tracer_;
  RunObserver& observer_;
  const RunOptions& options_;
  bool simulated_;
  std::function<double()> now_s_;
  std::map<Mode, std::vector<double>> floors_us_;
  const Family* family_ = nullptr;
  Values values_;
  bool set_up_ = false;
  bool lost_ = false;
  bool unrecoverable_ = false;  ///< lost and not recoverable
  bool interrupted_ = false;
  std::string lost_reason_;
  int epoch_ = 0;
  RunTimes times_;
  RunTimes* group_times_ = nullptr;  ///< times of the current group
};

}  // namespace gpuexp
