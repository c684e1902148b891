// compare --across uuid: the GPUs of a fleet held against each other.
#pragma once

#include <string>
#include <vector>

#include "cli/comparison.hpp"

namespace gpuexp::cli {

/// Compares the GPUs of the results (results.json files, or folders), shows and writes what it
/// found, and returns ExitCode::regressed where --fail-on's outcomes are there. Throws ConfigError
/// for results that were simulated, that are of one GPU, or of no cell that two GPUs have, and for
/// a gate that has no meaning here.
ExitCode compare_across_gpus(const std::vector<std::string>& files,
                             const ComparisonOptions& options, const ComparisonOutput& output);

}  // namespace gpuexp::cli
