#pragma once

#include <string>

#include "analysis/least_times.hpp"
#include "results/report.hpp"

namespace gpuexp::cli {

/// Reads a results.json or, from a folder, the log or else the results.json. Throws ConfigError if
/// the file cannot be read.
Report read_results(const std::string& file);

/// Device rates for explanations, from the ceilings in the report's provenance or, if it has none,
/// from the ceilings recorded for a device with the report's device name.
DeviceRates rates_of(const Report& report);

}  // namespace gpuexp::cli
