// One group's way through a run, and what groups share: the device and what it holds.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/executor.hpp"
#include "core/plan.hpp"
#include "core/row.hpp"
#include "core/runner.hpp"

namespace gpuexp {

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

  /// Nothing is known of a mode whose floor could not be measured.
  void measure_floor(Mode mode);
  std::optional<double> floor_us(Mode mode) const;
  /// Step of the clock that takes the samples, as seen in those of Mode::warm's floor; 0 unknown.
  double quantum_us() const;

  /// Sets the problem up unless it is there already; groups that differ in the mode alone share
  /// one. Takes a lost device anew first. Throws DeviceError.
  void set_up(const Family& family, const Values& values);

  /// To be told of every DeviceError: what was set up may be gone.
  void failed(const DeviceError& error);

  /// Why nothing can run any more; empty while something can.
  std::string end_reason();
  bool interrupted();

  /// Changes whenever what was set up and warmed up is gone.
  int epoch() const { return epoch_; }

  Executor& executor() { return executor_; }
  Tracer& tracer() { return tracer_; }
  RunObserver& observer() { return observer_; }
  const RunOptions& options() const { return options_; }
  double now_s() const { return now_s_(); }

  /// Adds what the step takes to one of the run's times, also when it throws.
  template <class Step>
  void timed(double RunTimes::*time, const Step& step) {
    const double start_s = now_s();
    const auto add = [&] { times_.*time += now_s() - start_s; };
    try {
      step();
    } catch (...) {
      add();
      throw;
    }
    add();
  }
  RunTimes& times() { return times_; }

 private:
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
};

/// Verifies, samples and verifies again the cells of one group. Rows come in blank, one for each
/// cell that is to run or was skipped, and leave with their status and numbers.
class GroupRun {
 public:
  GroupRun(Session& session, const Plan& plan, std::size_t group, std::vector<Row>& rows);
  void run();

 private:
  /// A cell on its way.
  struct Turn {
    Row* row = nullptr;
    bool killed = false;   ///< once already, through no fault of its own
    bool ended = false;    ///< its status is final
    bool capped = false;   ///< it has had all the samples or time that it may have
    int warm_epoch = -1;   ///< Session::epoch() at its warm-up
    double elapsed_s = 0;  ///< of its samples, flushes included
    /// During each of its samples; empty for one that is short or of an earlier run.
    std::vector<std::optional<double>> clocks_mhz = {};
    std::size_t kept = 0;  ///< samples before the rounds in flight
  };

  const Variant& variant(const Turn& turn) const { return *turn.row->cell->variant; }
  const MeasureSettings& settings() const { return experiment_.measure; }

  template <class Step>
  bool attempt(Turn& turn, Step&& step);
  bool fail(Turn& turn, const DeviceError& error);
  void end(Turn& turn, Status status, const std::string& reason);

  bool accept(Turn& turn, const Verification& verification, const char* when);
  void verify(Turn& turn, Mode mode, const char* when);
  void profile(Turn& turn);
  void sample();
  bool warm_up(const std::vector<Turn*>& turns);
  double quantum_us(const Turn& turn) const;
  std::vector<Turn*> wanting();
  std::vector<Turn*> next_rounds(const std::vector<Turn*>& turns);
  void take(const std::vector<Turn*>& turns);
  void judge(Turn& turn);
  void start_clock();
  std::optional<double> read_clock();
  void sample_in_turn(const std::vector<Turn*>& sequence, int first_round, std::size_t per_round,
                      std::size_t& taken);
  void judge_clock(const std::vector<Turn*>& turns, int first_round, std::optional<double> mhz);
  void verify_again(Turn& turn);

  Session& session_;
  const Group& group_;
  std::size_t index_;
  const Experiment& experiment_;
  std::vector<Turn> turns_;
  int round_ = 0;       ///< rounds taken
  double round_s_ = 0;  ///< what the last one took; 0 before the first
  std::vector<double> clocks_mhz_;
  int clock_epoch_ = -1;  ///< Session::epoch() when the clock was last read
  int discards_ = 0;
  Telemetry telemetry_;  ///< over the rounds
};

}  // namespace gpuexp
