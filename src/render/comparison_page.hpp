// A comparison of two runs for people.
#pragma once

#include <string>
#include <vector>

#include "analysis/run_comparison.hpp"
#include "render/view.hpp"

namespace gpuexp {

struct ComparisonPageOptions {
  bool all = false;  ///< rows that are the same or were tested in neither run, too
};

/// `head`: paragraphs on where the runs and the minimum effect are from. In each experiment what
/// went wrong comes first, then what became slower, the worst first.
Page page_of(const RunComparison& comparison, std::vector<std::string> head,
             const ComparisonPageOptions& options);

/// Three decimals, or four digits far from 1: "1.012"; and an interval of such: "1.010–1.014".
std::string ratio_text(double ratio);
std::string interval_text(const Interval& ratio);

/// "3 slower, 70 same; geometric mean of B/A 1.012 (1.010–1.014)".
std::string summary_of(const Tally& tally);

}  // namespace gpuexp
