// One typed row of results. fixed_columns() documents each member except the named values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mode.hpp"
#include "family/expected_change.hpp"
#include "record/named_values.hpp"
#include "record/status.hpp"
#include "stats/ratio.hpp"

namespace gpuexp {

/// Values of `executed_on`: what executed the launches of the row.
inline constexpr const char* kOnGpu = "gpu";
inline constexpr const char* kSimulated = "simulated";

/// ResultRecord::work_from if nothing is declared.
inline constexpr const char* kAssumedWork = "assumed";

/// Members have the names of their columns. An empty text or list means a missing value. Numbers
/// are finite.
struct ResultRecord {
  // Identity and status.
  std::string experiment;
  std::string family;
  std::string variant;
  std::optional<Implementation> implementation;
  std::optional<Mode> mode;
  std::optional<Status> status;
  std::string reason;
  std::vector<std::string> flags;
  std::string executed_on;
  std::string host;
  std::string gpu_uuid;

  // Times.
  std::optional<double> time_median_us;
  std::optional<double> time_ci95_low_us;
  std::optional<double> time_ci95_high_us;
  std::optional<double> time_min_us;
  std::optional<double> time_p5_us;
  std::optional<double> time_p25_us;
  std::optional<double> time_p75_us;
  std::optional<double> time_p95_us;
  std::optional<double> time_mean_us;
  std::optional<double> time_stdev_us;
  std::optional<double> time_mad_us;
  std::optional<double> timer_resolution_us;
  std::optional<double> correlation_time;
  std::optional<std::int64_t> outliers;
  std::optional<std::int64_t> samples;
  std::optional<StopReason> stop_reason;

  // Conditions of the measurement.
  std::optional<std::int64_t> flushed_bytes;
  std::optional<std::int64_t> graph_launches;
  std::optional<std::int64_t> rotated_bytes;
  std::string cache_state;
  std::optional<double> floor_us;
  std::optional<std::int64_t> gpus;
  std::optional<double> skew_us;
  std::optional<double> sm_clock_mhz;
  std::optional<double> sm_clock_min_mhz;
  std::optional<double> sm_clock_max_mhz;
  std::optional<double> nvml_sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> power_w;
  std::optional<double> temperature_c;
  std::vector<std::string> clock_reasons;
  std::optional<double> sustained_time_us;
  std::optional<double> sustained_sm_clock_mhz;
  std::optional<double> sustained_power_w;
  std::optional<double> cycles;
  std::vector<std::string> timeline;            ///< only for launches that use several streams
  std::vector<std::string> predicted_timeline;  ///< only for launches that use several streams

  // References.
  std::string baseline;
  std::string compare_to;
  std::vector<ExpectedChange> expected_changes;  ///< for the row's problem, without conditions
  std::optional<double> speedup;

  // Work and rates.
  std::optional<double> useful_bytes;
  std::optional<double> moved_bytes;
  std::optional<double> operations;
  std::string work_from;
  std::optional<double> useful_gb_per_s;
  std::optional<double> moved_gb_per_s;
  std::optional<double> link_bytes;
  std::optional<double> link_gb_per_s;
  std::optional<double> tflops;

  // Limits and predictions.
  std::optional<double> limit_time_us;
  std::string limit_by;
  std::optional<double> limit_pct;
  std::optional<double> dram_limit_pct;
  std::optional<double> compute_limit_pct;
  std::optional<double> measured_limit_time_us;
  std::string measured_limit_by;
  std::optional<double> measured_limit_pct;
  std::optional<double> predicted_time_us;
  std::optional<double> predicted_band_pct;
  std::string predicted_band_cause;
  std::string predicted_from;
  std::string bound_by;
  std::optional<double> prediction_error;
  std::optional<double> arithmetic_intensity;
  std::string intensity_from;

  // The launch on this device.
  std::optional<std::int64_t> kernel_launches;
  std::optional<std::int64_t> grid_blocks;
  std::optional<std::int64_t> block_threads;
  std::optional<std::int64_t> registers;
  std::optional<std::int64_t> local_bytes;
  std::optional<std::int64_t> shared_bytes;
  std::optional<std::int64_t> blocks_per_sm;
  std::optional<double> occupancy_pct;
  std::string occupancy_limiter;
  std::optional<double> waves;
  std::optional<double> tail_efficiency_pct;

  // Verification.
  std::optional<double> error_rms_rel;
  std::optional<double> error_max_rel;
  std::optional<double> error_over_allowed;
  std::optional<double> error_rms_over_allowed;
  std::optional<double> verified_pct;
  std::optional<double> counts_error_pct;
  std::string key;

  // Values by name: families and configs declare the names.
  NamedValues parameters;
  NamedValues metrics;
  NamedValues counters;  ///< by ids of kCounters or names of Nsight Compute metrics
  NamedValues others;    ///< unknown columns

  bool operator==(const ResultRecord&) const = default;

  bool passed() const { return has_passed(status); }
  bool has_values() const { return gpuexp::has_values(status); }
  /// True if the time is below the datasheet limit, because a cache served the data or a byte count
  /// is wrong.
  bool is_above_limit() const { return limit_pct.value_or(0) > 100; }
  bool is_vendor() const { return implementation == Implementation::library; }
  bool has_flag(std::string_view flag) const;
  /// The median time, which may be compared with other rows: empty unless the row passed.
  std::optional<double> time_us() const;
  std::optional<double> half_interval_us() const;
};

/// "" if mode or status is missing.
std::string mode_text(const ResultRecord& record);
std::string status_text(const ResultRecord& record);

/// True if the interval of a's median is below the interval of b's median. A row without an
/// interval has its minimum and its 95th percentile as ends, or its median if these are missing.
bool clearly_faster(const ResultRecord& a, const ResultRecord& b);

/// Time of `slow` divided by time of `fast`, with its 95 % interval; empty if either row has no
/// interval.
std::optional<Ratio> ratio_of(const ResultRecord& fast, const ResultRecord& slow);

}  // namespace gpuexp
