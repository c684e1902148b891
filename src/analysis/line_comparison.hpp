// Two versions of a kernel, compared by source line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/annotation.hpp"
#include "sass/source_files.hpp"

namespace gpuexp {

/// Counts and time of one launch. Counts of launches of which only some blocks were simulated are
/// scaled to all blocks.
struct LineCounts {
  double instructions = 0;  ///< warp instructions
  double sectors = 0;       ///< sectors of global memory
  double wavefronts = 0;    ///< wavefronts of shared memory
  double time_us = 0;       ///< the line's share of the predicted time

  LineCounts& operator+=(const LineCounts& more);
};

/// A line that at least one version executes.
struct ComparedLine {
  std::optional<SourceLine> before;  ///< empty: the line is only in the second version
  std::optional<SourceLine> after;   ///< empty: the line is only in the first version
  std::string text;                  ///< without blanks at both ends
  LineCounts counts_before;
  LineCounts counts_after;

  double change_us() const { return counts_after.time_us - counts_before.time_us; }
};

struct LineComparison {
  /// In the order of the second version; lines of only the first version stand where they were.
  std::vector<ComparedLine> lines;
  LineCounts before;  ///< sums over all lines
  LineCounts after;

  double change_us() const { return after.time_us - before.time_us; }
};

/// A launch, and the texts of its source lines.
struct AnnotatedVersion {
  const AnnotatedLaunch& launch;
  const SourceFiles& sources;
};

/// Executed lines are matched by their text, without blanks at both ends, as the longest common
/// subsequence of both versions.
LineComparison compare_lines(const AnnotatedVersion& before, const AnnotatedVersion& after);

/// Indices of the fewest lines, in descending order of their change, that together explain at least
/// `share` of the whole change. Only changes in the same direction as the whole change count.
/// Replaced lines count together with their replacements. Empty if the time did not change.
std::vector<std::size_t> lines_that_explain(const LineComparison& comparison, double share);

}  // namespace gpuexp
