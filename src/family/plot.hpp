// Plots of a family's results, drawn by scripts/plot.py. C++17, included by .cu files.
#pragma once

#include <string>
#include <vector>

namespace gpuexp {

/// A column that is an axis of a plot, and the axis label.
struct PlotAxis {
  std::string column;
  std::string label;
};

/// If two families declare the same plot, it shows the rows of both.
struct Plot {
  std::string name;
  std::string kind;  ///< one of KINDS in scripts/plot.py
  std::string title;
  std::vector<PlotAxis> axes = {};
};

}  // namespace gpuexp
