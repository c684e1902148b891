// One row of results: what happened to one cell.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/telemetry.hpp"
#include "family/counters.hpp"
#include "plan/plan.hpp"
#include "record/measurement.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

enum class Status {
  passed,     ///< verified before and after timing
  incorrect,  ///< ran, and an element or a guard was wrong
  failed,     ///< the device refused the launch or reported a fault
  skipped,    ///< cannot run here; the reason says why
  timeout,    ///< did not finish in time
  not_run,    ///< the run ended before its turn
};
inline constexpr std::array kStatuses{Status::passed,  Status::incorrect, Status::failed,
                                      Status::skipped, Status::timeout,   Status::not_run};
std::string_view name_of(Status status);

/// Why sampling ended.
enum class StopReason { none, converged, max_samples, max_seconds, interrupted };
inline constexpr std::array kStopReasons{StopReason::none, StopReason::converged,
                                         StopReason::max_samples, StopReason::max_seconds,
                                         StopReason::interrupted};
std::string_view name_of(StopReason reason);

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
