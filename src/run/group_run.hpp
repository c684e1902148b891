#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "run/row.hpp"
#include "run/sample_clocks.hpp"
#include "run/session.hpp"

namespace gpuexp {

/// Verifies the cells of one group, samples them, and verifies them again. Users' kernels with long
/// sums are verified with two sets of inputs: first with those for which their sums are exact. The
/// constructor receives blank rows, one per cell, including skipped cells; run() fills in status
/// and numbers.
class GroupRun {
 public:
  GroupRun(Session& session, const Plan& plan, std::size_t group, std::vector<Row>& rows);
  void run();

 private:
  struct CellState {
    Row* row = nullptr;
    bool killed = false;   ///< its process was killed once, and the cell retried
    bool ended = false;    ///< its status is final
    bool capped = false;   ///< it reached max_samples or max_seconds
    int warm_epoch = -1;   ///< Session::epoch() at its warm-up
    double elapsed_s = 0;  ///< seconds spent on its samples, including flushes
    SampleClocks clocks_mhz = {};
    std::size_t unread = 0;  ///< index of the first sample that the next clock reading covers
    std::size_t before = 0;  ///< number of samples before the current rounds
  };

  const Variant& variant(const CellState& cell) const { return *cell.row->cell->variant; }
  const MeasureSettings& settings() const { return experiment_.measure; }

  template <class Step>
  bool attempt(CellState& cell, const Family& family, Step&& step);
  template <class Step>
  bool attempt(CellState& cell, Step&& step);
  bool fail(CellState& cell, const DeviceError& error);
  void end(CellState& cell, Status status, const std::string& reason);

  void verify_exact_sums();
  bool accept(CellState& cell, const Verification& verification, const char* when);
  /// A failed verification as text, with the names of elements that the family's user declared.
  std::string failure_text(const Verification& verification) const;
  bool refuse_check(CellState& cell, const Family& family, const Verification& verification);
  void pass(CellState& cell, const Verification& verification);
  void verify(CellState& cell, Mode mode, const char* when);
  void profile(CellState& cell);
  void sample();
  void sample_first_launches(CellState& cell);
  bool warm_up(const std::vector<CellState*>& cells);
  double quantum_us(const CellState& cell) const;
  std::vector<CellState*> wanting();
  std::vector<CellState*> next_rounds(const std::vector<CellState*>& cells);
  void take(const std::vector<CellState*>& cells);
  void judge(CellState& cell);
  bool is_precise_enough(const CellState& cell, const Statistics& statistics) const;
  double elapsed_s() const;
  void start_clock(int round);
  void read_clock();
  void sample_sequence(const std::vector<CellState*>& sequence, int first_round,
                       std::size_t per_round, std::size_t& taken);
  void sustain(const std::vector<CellState*>& cells);
  void verify_again(CellState& cell);

  Session& session_;
  const Group& group_;
  std::size_t index_;
  const Experiment& experiment_;
  std::vector<CellState> cells_;
  int round_ = 0;             ///< number of rounds taken, including an interrupted run's
  double round_s_ = 0;        ///< seconds per round in the last time slice; 0 before the first
  int unread_round_ = 0;      ///< first round that the next clock reading covers
  int clock_epoch_ = -1;      ///< Session::epoch() when the clock was last started
  int sustained_epoch_ = -1;  ///< Session::epoch() when the launches last ran back to back
  double since_s_ = 0;        ///< start of sampling, on the clock of Session::now_s()
  Telemetry telemetry_;       ///< during the rounds
};

}  // namespace gpuexp
