// Results given on the command line.
#pragma once

#include <string>

#include "report/report.hpp"

namespace gpuexp::cli {

/// Reads a results.json, or the log in the folder of a run. Throws ConfigError: what cannot be read
/// is a mistake in the command line, as a config that cannot be.
Report read_results(const std::string& file);

}  // namespace gpuexp::cli
