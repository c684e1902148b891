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
  /// Arguments "key=value[,value…]" of `--set`. A key is a parameter, `modes`, `counters` or
  /// `measure.KEY`. A parameter's axis is set or added in every experiment that has the
  /// parameter; other keys apply to every experiment. Unknown and repeated keys are errors.
  /// Values are numbers and names; only configs can contain ranges.
  std::vector<std::string> sets;
  /// Globs of `--filter` for "family/variant", applied before `sets`; empty: all variants. A
  /// variant is kept if any of them matches. A baseline that none matches becomes null, and
  /// experiments without matching variants are dropped. A glob that matches nothing is an error.
  std::vector<std::string> filters;
};

/// Throws ConfigError, which names the option: "--set n=0: tiling.n[0]: 0 is out of range;
/// allowed: 1 to 65536 (n: rows of A)".
void apply_overrides(const ConfigOverrides& overrides, Config& config);

/// Reads a parameter's value in the syntax of `--set`: numbers as in a config, names without
/// quotes. Throws ConfigError "<source>: <parameter>: <message>".
Value value_of(const std::string& text, const Parameter& parameter, const std::string& source);

}  // namespace gpuexp
