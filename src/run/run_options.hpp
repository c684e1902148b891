// What a run is asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "device/device_state.hpp"
#include "family/counters.hpp"
#include "plan/plan.hpp"

namespace gpuexp {

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
  /// Given a cell that has run, adds to its prediction what its machine code says; waits for that.
  /// May be empty.
  std::function<void(const Cell&, Prediction&)> refine_prediction;
  /// Whether refine_prediction() would not wait. May be empty where it never does.
  std::function<bool(const Cell&)> is_predicted;
  /// Given what was counted of a cell, adds what is known of it otherwise; may take its time. May
  /// be empty.
  std::function<void(const Cell&, LaunchCounts&)> add_counts;
  /// Asked between samples; true ends the run, and the cells that had no turn become not_run.
  std::function<bool()> interrupted = [] { return false; };
  /// Seconds on a steady clock; tests script it.
  std::function<double()> now_s;
  /// What was known of the device between two such moments; may be empty.
  std::function<Telemetry(double from_s, double to_s)> telemetry;
};

}  // namespace gpuexp
