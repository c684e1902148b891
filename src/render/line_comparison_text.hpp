#pragma once

#include <optional>
#include <string>

#include "analysis/line_comparison.hpp"
#include "render/terminal_options.hpp"
#include "run/side_by_side.hpp"

namespace gpuexp {

/// Names of the compared versions, such as "old.cu:tile".
struct VersionNames {
  std::string before;
  std::string after;
};

/// Times and counts of both launches, the lines that explain most of the change, and a table of the
/// lines that changed; with `all`, of all executed lines. Times are measured, if `measured` has
/// them, and predicted.
std::string line_comparison_text(const LineComparison& comparison, const VersionNames& names,
                                 const std::optional<SideBySide>& measured, bool all,
                                 const TerminalOptions& options);

}  // namespace gpuexp
