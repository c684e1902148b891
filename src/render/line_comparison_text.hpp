#pragma once

#include <optional>
#include <string>

#include "analysis/line_comparison.hpp"
#include "model/prediction_band.hpp"
#include "render/terminal_options.hpp"
#include "run/side_by_side.hpp"

namespace gpuexp {

struct ComparedVersion {
  std::string name;                    ///< such as "old.cu:tile"
  std::optional<PredictionBand> band;  ///< band of the predicted time
};
struct ComparedVersions {
  ComparedVersion before;
  ComparedVersion after;
};

/// Times and counts of both launches, the lines that explain most of the change, and a table of the
/// lines that changed; with `all`, of all executed lines. Times are measured, if `measured` has
/// them, and predicted.
std::string line_comparison_text(const LineComparison& comparison, const ComparedVersions& versions,
                                 const std::optional<SideBySide>& measured, bool all,
                                 const TerminalOptions& options);

}  // namespace gpuexp
