// Results given on the command line.
#pragma once

#include <string>

#include "analysis/least_times.hpp"
#include "results/report.hpp"

namespace gpuexp::cli {

/// Reads a results.json, or the log in the folder of a run. Throws ConfigError: what cannot be read
/// is a mistake in the command line, as a config that cannot be.
Report read_results(const std::string& file);

/// What explanations of the report rest on. Results have the ceilings themselves; for those of an
/// older version, what is recorded of a device of this name stands in.
DeviceRates rates_of(const Report& report);

}  // namespace gpuexp::cli
