// What the command line changes about a config that has been read and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace gpuexp {

/// What the command line changes about a config.
struct ConfigOverrides {
  std::optional<std::uint64_t> seed;
  /// "key=value[,value…]" of `--set`: gives the axis `key` these values in every experiment whose
  /// family has the parameter (appending the axis where there is none), or sets `modes`, `counters`
  /// or `measure.KEY` of every experiment. An error when no experiment has the key, and when a key
  /// comes twice. Values are numbers and names; ranges belong in the config.
  std::vector<std::string> sets;
  /// `--filter GLOB` on "family/variant", applied before `sets`; empty keeps all. A baseline that
  /// is filtered out becomes null, experiments left with no variant are dropped; an error when all
  /// are.
  std::string filter;
};

/// Throws ConfigError that names the option, as in
/// "--set n=0: tiling.n[0]: 0 is out of range; allowed: 1 to 65536 (n: rows of A)".
void apply_overrides(const ConfigOverrides& overrides, Config& config);

/// A parameter's value as `--set` has it: numbers as in a config, names without quotes. Throws
/// ConfigError "<source>: <parameter>: <what is wrong with it>".
Value value_of(const std::string& text, const Parameter& parameter, const std::string& source);

}  // namespace gpuexp
