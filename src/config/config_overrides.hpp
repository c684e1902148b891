// Changes that the command line makes to a config.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace gpuexp {

struct ConfigOverrides {
  std::optional<std::uint64_t> seed;
  /// Arguments "key=value[,value…]" of `--set`. A key is a parameter, whose axis is set or added in
  /// every experiment that has it, or it is `modes`, `counters` or `measure.KEY` of every
  /// experiment. Unknown and repeated keys are errors. Values are numbers and names; only the
  /// config can contain ranges.
  std::vector<std::string> sets;
  /// Glob of `--filter`, matched with "family/variant" before `sets` are applied; empty keeps all.
  /// A filtered-out baseline becomes null, and experiments without variants are dropped. It is an
  /// error if no experiment is left.
  std::string filter;
};

/// Throws ConfigError that names the option, such as "--set n=0: tiling.n[0]: 0 is out of range;
/// allowed: 1 to 65536 (n: rows of A)".
void apply_overrides(const ConfigOverrides& overrides, Config& config);

/// Reads a parameter's value as in `--set`: numbers as in a config, names without quotes. Throws
/// ConfigError "<source>: <parameter>: <message>".
Value value_of(const std::string& text, const Parameter& parameter, const std::string& source);

}  // namespace gpuexp
