// Files that the values of a config name.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"

namespace gpuexp {

/// The names as the config has them, each once.
std::vector<std::string> files_of(const Config& config);

/// Throws ConfigError with the place if a file cannot be used.
void check_files(const Config& config);

}  // namespace gpuexp
