// What the command line changes about a config that has been read and checked.
#pragma once

#include "core/config.hpp"

namespace gpuexp {

/// Throws ConfigError that names the option, as in
/// "--set n=0: tiling.n[0]: 0 is out of range; allowed: 1 to 65536 (n: rows of A)".
void apply_overrides(const ConfigOverrides& overrides, Config& config);

}  // namespace gpuexp
