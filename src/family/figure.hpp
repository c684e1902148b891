// How scripts/plot.py draws a family's results. C++17, included by .cu files.
#pragma once

#include <string>
#include <vector>

namespace gpuexp {

/// A column that a figure is drawn over, and what stands at its axis.
struct FigureAxis {
  std::string column;
  std::string label;
};

/// Two families may declare the same figure, which then shows the rows of both.
struct Figure {
  std::string name;   ///< of its file
  std::string kind;   ///< one of KINDS in scripts/plot.py
  std::string title;  ///< what there is to see
  std::vector<FigureAxis> axes = {};
};

}  // namespace gpuexp
