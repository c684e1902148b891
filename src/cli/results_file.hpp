// Reads results given on the command line.
#pragma once

#include <string>

#include "analysis/least_times.hpp"
#include "results/report.hpp"

namespace gpuexp::cli {

/// Reads a results.json, or the log in a run folder. Throws ConfigError for an unreadable file,
/// since the command line named it.
Report read_results(const std::string& file);

/// Device rates for explanations: the ceilings in the report's provenance or, if it has none, the
/// ceilings recorded for a device of this name.
DeviceRates rates_of(const Report& report);

}  // namespace gpuexp::cli
