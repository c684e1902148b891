// What the runner knows of one cell. record_of() makes a row of results of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/device_state.hpp"
#include "family/counters.hpp"
#include "plan/plan.hpp"
#include "record/measurement.hpp"
#include "record/status.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

/// The SM clock under a row's own samples.
struct Clocks {
  double median_mhz;
  double min_mhz;
  double max_mhz;
  /// Median of the second half of the samples over that of the first; empty where either half has
  /// no reading.
  std::optional<double> second_half_over_first;
};

/// What a row came to after its group's launches had run back to back for a while.
struct Sustained {
  Statistics time_us;  ///< of a few samples then
  std::optional<double> sm_clock_mhz;
  std::optional<double> power_w;
};

struct Row {
  const Group* group = nullptr;
  const Cell* cell = nullptr;
  std::string key;
  Status status = Status::not_run;
  std::string reason;  ///< of every status but passed
  std::optional<Prediction> prediction;
  std::vector<double> samples_us;  ///< of one launch each, in the order of their rounds
  std::vector<double> skews_us;    ///< likewise, of a problem that spans GPUs
  std::optional<Statistics> time_us;
  StopReason stop_reason = StopReason::none;
  std::optional<Verification> verification;  ///< the last one made
  MetricValues metrics;
  std::optional<double> baseline_time_us;  ///< median of the group's baseline, once it has passed
  std::optional<SampleTraits> traits;      ///< how the samples were taken
  std::optional<double> floor_us;          ///< median of an empty kernel in the same mode
  std::optional<Clocks> clocks;            ///< while the samples were taken
  Telemetry telemetry;                     ///< likewise
  std::optional<Sustained> sustained;      ///< of a group that nears the power cap
  std::optional<LaunchCounts> counts;      ///< hardware counters of one launch after timing
  std::vector<std::string> flags;          ///< what a reader should know before trusting the number
};

}  // namespace gpuexp
