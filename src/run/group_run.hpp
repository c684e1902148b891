// One group's way through a run.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "run/row.hpp"
#include "run/sample_clocks.hpp"
#include "run/session.hpp"

namespace gpuexp {

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
    SampleClocks clocks_mhz = {};
    std::size_t unread = 0;  ///< its first sample that the next reading of the clock covers
    std::size_t before = 0;  ///< samples before the rounds in flight
  };

  const Variant& variant(const Turn& turn) const { return *turn.row->cell->variant; }
  const MeasureSettings& settings() const { return experiment_.measure; }

  template <class Step>
  bool attempt(Turn& turn, Step&& step);
  bool fail(Turn& turn, const DeviceError& error);
  void end(Turn& turn, Status status, const std::string& reason);

  bool accept(Turn& turn, const Verification& verification, const char* when);
  void pass(Turn& turn);
  void verify(Turn& turn, Mode mode, const char* when);
  void profile(Turn& turn);
  void sample();
  void sample_first_launches(Turn& turn);
  bool warm_up(const std::vector<Turn*>& turns);
  double quantum_us(const Turn& turn) const;
  std::vector<Turn*> wanting();
  std::vector<Turn*> next_rounds(const std::vector<Turn*>& turns);
  void take(const std::vector<Turn*>& turns);
  void judge(Turn& turn);
  bool is_fine(const Turn& turn, const Statistics& statistics) const;
  double elapsed_s() const;
  void start_clock(int round);
  void read_clock();
  void sample_in_turn(const std::vector<Turn*>& sequence, int first_round, std::size_t per_round,
                      std::size_t& taken);
  void sustain(const std::vector<Turn*>& turns);
  void verify_again(Turn& turn);

  Session& session_;
  const Group& group_;
  std::size_t index_;
  const Experiment& experiment_;
  std::vector<Turn> turns_;
  int round_ = 0;             ///< rounds taken
  double round_s_ = 0;        ///< what the last one took; 0 before the first
  int unread_round_ = 0;      ///< the first that the next reading of the clock covers
  int clock_epoch_ = -1;      ///< Session::epoch() when the clock was last started
  int sustained_epoch_ = -1;  ///< Session::epoch() when the launches last ran back to back
  double since_s_ = 0;        ///< when the first rounds began
  Telemetry telemetry_;       ///< over the rounds
};

}  // namespace gpuexp
