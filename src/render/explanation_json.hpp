#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/explanation.hpp"
#include "analysis/predicted_difference.hpp"

namespace gpuexp {

/// Increases according to the rules for schema_version in results/json_write.hpp.
inline constexpr int kExplanationSchemaVersion = 2;

using ExplainedExperiment = std::pair<ExperimentResults, std::vector<Explanation>>;

/// { "schema_version", "results": the file, "device", "explanations": [ { "experiment", "family",
/// "variant", "compare_to", "mode", "parameters", "time_us", "compare_to_time_us", "factor",
/// "factor_ci95_low", "factor_ci95_high", "differs", "counted", "changes": [ { "counter", "from",
/// "to" } ], "kept", "not_seen": texts, "others": as changes, "bound", "compare_to_bound": {
/// "resource", "least_time_us", "share_of_time", "needed_us", "needed_share", "launch_us",
/// "kernels", "sm_share", "least_times": [ { "resource", "amount", "least_time_us" } ],
/// "least_times_of_kernels": as "least_times" }, "misfit": a resource, "accounted_factor",
/// "accounted_factor_without_idle_sms", "accounted_factor_without_launches", "predicted_factor",
/// "latency_factor", "atomics_factor", "launched", "compare_to_launched": { "kernels", "fills" },
/// "cause", "cause_resources": names, "confidence", "text" } ] }; unknown values are null.
std::string to_json(const std::string& file, const std::optional<std::string>& device,
                    const std::vector<ExplainedExperiment>& experiments);

using PredictedExperiment = std::pair<ExperimentResults, std::vector<PredictedDifference>>;

/// { "schema_version", "results", "device", "executed_on": "simulated", "predicted_comparisons":
/// [ { "experiment", "family", "variant", "compare_to", "mode", "parameters", "predicted_time_us",
/// "compare_to_predicted_time_us", "predicted_factor", "differs", "bound_by",
/// "compare_to_bound_by", "changes", "kept", "not_seen", "text" } ] }, with members as above.
std::string to_json(const std::string& file, const std::optional<std::string>& device,
                    const std::vector<PredictedExperiment>& experiments);

}  // namespace gpuexp
