// Checks of numbers on the command line. Their messages name the bound and the number found.
#pragma once

#include <CLI/CLI.hpp>

namespace gpuexp::cli {

/// Accepts finite numbers above 0.
CLI::Validator above_zero();

/// Accepts integers of at least 1.
CLI::Validator at_least_one();

}  // namespace gpuexp::cli
