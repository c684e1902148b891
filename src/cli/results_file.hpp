// Results given on the command line.
#pragma once

#include <optional>
#include <string>

#include "results/report.hpp"

namespace gpuexp::cli {

/// Reads a results.json, or the log in the folder of a run. Throws ConfigError: what cannot be read
/// is a mistake in the command line, as a config that cannot be.
Report read_results(const std::string& file);

/// Theoretical bandwidth of the memory of the device that was measured. Results name it themselves;
/// those of an older version have the device's name, and the specs its bandwidth.
std::optional<double> dram_bytes_per_s(const DeviceProvenance& device);

}  // namespace gpuexp::cli
