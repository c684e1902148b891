// The runner's state of one cell; record_of() converts it into a result row.
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

struct Clocks {
  double median_mhz;
  double min_mhz;
  double max_mhz;
  /// Median over the second half of the samples, divided by the median over the first half. Empty
  /// if either half has no clock reading.
  std::optional<double> second_half_over_first;
};

/// Measurements of the burst check: times after the group's launches ran back to back, clock and
/// power during the second half of these launches.
struct Sustained {
  Statistics time_us;  ///< statistics of the samples taken afterwards
  std::optional<double> sm_clock_mhz;
  std::optional<double> power_w;
};

struct Row {
  const Group* group = nullptr;
  const Cell* cell = nullptr;
  std::string key;
  Status status = Status::not_run;
  std::string reason;  ///< set unless the row has passed
  std::optional<Prediction> prediction;
  std::vector<double> samples_us;  ///< times per launch, in the order of the rounds
  std::vector<double> skews_us;    ///< start skews of these samples, for problems that span GPUs
  std::optional<Statistics> time_us;
  StopReason stop_reason = StopReason::none;
  std::optional<Verification> verification;  ///< the latest verification
  /// Why a kernel that omits a term of a sum could pass (ExactVerification); empty if it could not.
  std::string hidden_terms;
  /// The verification with inputs for which the sums are exact, if there was one and it passed.
  std::optional<Verification> exact_verification;
  MetricValues metrics;
  std::optional<double> baseline_time_us;  ///< median time of the baseline in this group
  std::optional<SampleTraits> traits;      ///< how the samples were taken
  std::optional<double> floor_us;          ///< median time of an empty kernel in the mode
  std::optional<Clocks> clocks;            ///< during the samples
  Telemetry telemetry;                     ///< during the samples
  std::optional<Sustained> sustained;      ///< only for groups near the power cap
  std::optional<LaunchCounts> counts;      ///< hardware counters of one launch after timing
  std::vector<std::string> flags;          ///< caveats about the times (record/flags.hpp)
};

}  // namespace gpuexp
