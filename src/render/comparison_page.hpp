#pragma once

#include <string>
#include <vector>

#include "analysis/run_comparison.hpp"
#include "render/view.hpp"

namespace gpuexp {

struct ComparisonPageOptions {
  bool all = false;  ///< also show rows that are the same or untested
};

/// `head` contains paragraphs on the runs and the minimum effect. Each experiment lists broken and
/// missing rows first, then slower rows by decreasing ratio.
Page page_of(const RunComparison& comparison, std::vector<std::string> head,
             const ComparisonPageOptions& options);

/// Three decimals between 0.1 and 10, else four significant digits: "1.012". An interval:
/// "1.010–1.014".
std::string ratio_text(double ratio);
std::string interval_text(const Interval& ratio);

/// "3 slower, 70 same; geometric mean of B/A 1.012 (1.010–1.014)".
std::string summary_of(const Tally& tally);

}  // namespace gpuexp
