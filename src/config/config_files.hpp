// Files that values of a config name.
#pragma once

#include <string>
#include <vector>

#include "base/input_file.hpp"
#include "config/config.hpp"

namespace gpuexp {

std::vector<std::string> files_of(const Config& config);

/// The planned identities (input_file.hpp) of the files in `values`. Throws InputError.
std::vector<FileIdentity> planned_files(const Family& family, const Values& values);

/// Throws ConfigError, which names the location in the config, if a file cannot be used.
void check_files(const Config& config);

}  // namespace gpuexp
