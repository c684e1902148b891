// The folder of a run's results, or of merged ones.
#pragma once

#include <ctime>
#include <filesystem>
#include <string>

#include "results/json_write.hpp"
#include "results/report.hpp"

namespace gpuexp::cli {

/// What was given with --out, else results/NAME-UTC.
std::filesystem::path results_folder(const std::string& out, const std::string& name,
                                     std::time_t started);

/// Makes the folder. Throws ConfigError where it holds results: a run never overwrites another.
void claim_folder(const std::filesystem::path& folder);

/// results.csv, results.json, and kernels.csv where hardware counters were read. Throws ReportError
/// where one cannot be written.
void write_results(const Report& report, const std::filesystem::path& folder,
                   const JsonOptions& json);

}  // namespace gpuexp::cli
