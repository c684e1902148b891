// Results given on the command line.
#pragma once

#include <string>

#include "analysis/least_times.hpp"
#include "results/report.hpp"

namespace gpuexp::cli {

/// Reads a results.json, or the log in the folder of a run. Throws ConfigError: what cannot be read
/// is a mistake in the command line, as a config that cannot be.
Report read_results(const std::string& file);

/// What explanations of the report rest on: the ceilings in its provenance or, if it has none,
/// those recorded of a device of this name.
DeviceRates rates_of(const Report& report);

}  // namespace gpuexp::cli
