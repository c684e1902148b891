#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "device/device_state.hpp"
#include "family/counters.hpp"
#include "family/registry.hpp"
#include "plan/plan.hpp"

namespace gpuexp {

enum class RunKind {
  measure,  ///< verify, warm up, sample, verify again; cells in Mode::profile are launched once
  verify,   ///< only verify
};

struct RunOptions {
  RunKind kind = RunKind::measure;
  std::uint64_t seed = 1;
  /// Verification of users' kernel files; null if the plan has none.
  const KernelFiles* kernel_files = nullptr;
  /// Samples that an interrupted run has taken and this run continues, by Cell::index.
  std::map<std::size_t, std::vector<double>> prior_samples_us;
  /// Cells that already have a row, by Cell::index. This run skips them.
  std::set<std::size_t> finished;
  bool counters = true;  ///< read the counters that the experiments request
  /// Metrics that the GPU does not have. Counters computed from them stay empty.
  std::set<std::string> missing_metrics;
  /// Adds the prediction from machine code to a finished cell's prediction, after waiting until it
  /// is available. May be empty.
  std::function<void(const Cell&, Prediction&)> refine_prediction;
  /// True if refine_prediction() returns without waiting. May be empty if refine_prediction()
  /// never waits.
  std::function<bool(const Cell&)> is_predicted;
  /// Adds counts from other sources to the counts of a cell; may be slow. May be empty.
  std::function<void(const Cell&, LaunchCounts&)> add_counts;
  /// Called between steps of the run; if it returns true, the run ends, and the remaining cells
  /// become not_run.
  std::function<bool()> interrupted = [] { return false; };
  /// Seconds on a steady clock; tests replace it.
  std::function<double()> now_s;
  /// Telemetry of the device between two times of now_s(); may be empty.
  std::function<Telemetry(double from_s, double to_s)> telemetry;
};

}  // namespace gpuexp
