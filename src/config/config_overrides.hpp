// What the command line changes about a config that has been read and checked.
#pragma once

#include <string>

#include "config/config.hpp"

namespace gpuexp {

/// Throws ConfigError that names the option, as in
/// "--set n=0: tiling.n[0]: 0 is out of range; allowed: 1 to 65536 (n: rows of A)".
void apply_overrides(const ConfigOverrides& overrides, Config& config);

/// A parameter's value as `--set` has it: numbers as in a config, names without quotes. Throws
/// ConfigError "<source>: <parameter>: <what is wrong with it>".
Value value_of(const std::string& text, const Parameter& parameter, const std::string& source);

}  // namespace gpuexp
