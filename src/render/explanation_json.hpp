// Explanations for programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/explanation.hpp"

namespace gpuexp {

/// Raised as kReportSchemaVersion is.
inline constexpr int kExplanationSchemaVersion = 1;

/// The explanations of one experiment.
using ExplainedExperiment = std::pair<ExperimentResults, std::vector<Explanation>>;

/// { "schema_version", "results": the file, "device", "explanations": [ { "experiment", "family",
/// "variant", "compare_to", "mode", "parameters", "time_us", "compare_to_time_us", "factor",
/// "factor_ci95_low", "factor_ci95_high", "differs", "counted", "changes": [ { "counter", "from",
/// "to" } ], "kept", "not_seen": texts, "busiest", "compare_to_busiest": { "resource", "share_pct"
/// }, "accounted_factor", "confidence", "text" } ] }, null for what is not known.
std::string to_json(const std::string& file, const std::optional<std::string>& device,
                    const std::vector<ExplainedExperiment>& experiments);

}  // namespace gpuexp
