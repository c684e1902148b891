// What differs between the circumstances of two runs.
#pragma once

#include <string>
#include <vector>

#include "results/report.hpp"

namespace gpuexp {

/// One line for each difference between the circumstances of two runs: GPU, driver, toolkit,
/// commit, seed, settings.
std::vector<std::string> differences(const Provenance& a, const Provenance& b);

}  // namespace gpuexp
