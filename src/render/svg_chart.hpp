// Figures as SVG for a page of HTML: colours by classes of the page's style (s0 to s7), so that
// they follow its dark mode; what a point says stands in its <title>.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/chart.hpp"

namespace gpuexp {

/// Colours that the page's style has, and dashes for as many series of each colour.
inline constexpr std::size_t kSvgColours = 8;

/// A <figure> with the drawing, its legend, and what it shows in words.
std::string svg_figure(const Chart& chart);
std::string svg_figure(const PredictionChart& chart);

}  // namespace gpuexp
