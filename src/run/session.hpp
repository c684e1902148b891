// What the groups of a run share: the device, what is set up on it, and where the time goes.
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

/// As the settings ask for it.
inline WarmUp warm_up_of(const MeasureSettings& settings) {
  return {static_cast<std::size_t>(settings.warmup_launches), settings.warmup_seconds};
}

/// There is no device any more: nobody's fault but that of what lost it.
class DeviceGone : public DeviceError {
 public:
  explicit DeviceGone(const std::string& what) : DeviceError(what, DeviceFault::lost) {}
};

/// The device over a whole run: what is set up on it, whether it is there, and what a launch costs.
class Session {
 public:
  Session(Executor& executor, Tracer& tracer, RunObserver& observer, const RunOptions& options,
          std::function<double()> now_s);

  /// Times an empty kernel in the mode; where that fails, its floor_us() stays empty.
  void measure_floor(Mode mode);
  std::optional<double> floor_us(Mode mode) const;
  /// Step of a sample in the mode, which is a mean over so many launches: of the events' clock, as
  /// seen in those of Mode::warm's floor; 0 unknown, and 0 of the host's clock.
  double quantum_us(Mode mode, int launches) const;

  /// Sets the problem up unless it is there already; groups that differ in the mode alone share
  /// one. Takes a lost device anew first. Throws DeviceError.
  void set_up(const Family& family, const Values& values);

  /// What the GPU counts during each launch; what was set up is gone. Takes a lost device anew
  /// first. Throws DeviceError.
  std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches,
                                  const std::vector<std::string>& metrics);

  /// Launches back to back, for so many seconds or until the run ends. All are warmed up. Throws
  /// DeviceError.
  void run_back_to_back(const std::vector<const Variant*>& variants, Mode mode, double seconds);

  /// Goes on in a process that has launched nothing yet; false where there is none to be had.
  bool restart();

  /// Has to be called for every DeviceError: what was set up may be gone.
  void failed(const DeviceError& error);

  /// Why nothing can run any more; empty while something can.
  std::string end_reason();
  bool interrupted();

  /// Changes whenever what was set up and warmed up is gone.
  int epoch() const { return epoch_; }

  Executor& executor() { return executor_; }
  /// Of an executor that has one.
  LaunchTimer& timer() { return *executor_.timer(); }
  Tracer& tracer() { return tracer_; }
  RunObserver& observer() { return observer_; }
  const RunOptions& options() const { return options_; }
  double now_s() const { return now_s_(); }

  /// From here on, times are added to those of a group, too; null: to the run's only.
  void time_for(RunTimes* group) { group_times_ = group; }

  /// Adds what the step takes to one of the run's times, also when it throws.
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
  void need_device();

  Executor& executor_;
  Tracer& tracer_;
  RunObserver& observer_;
  const RunOptions& options_;
  std::function<double()> now_s_;
  std::map<Mode, std::vector<double>> floors_us_;
  const Family* family_ = nullptr;
  Values values_;
  bool set_up_ = false;
  bool lost_ = false;
  bool gone_ = false;  ///< lost, and not to be had again
  bool interrupted_ = false;
  std::string lost_reason_;
  int epoch_ = 0;
  RunTimes times_;
  RunTimes* group_times_ = nullptr;  ///< of the group that runs
};

}  // namespace gpuexp
