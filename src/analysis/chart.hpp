// What a figure of an experiment shows, before anybody draws it: which rows, which of their
// numbers, over what.
//
// The choice is that of scripts/plot.py, as far as lines and bars go: a line per series where a
// numeric parameter is swept, else a bar per row. The family's declared figure says of which number
// (a time, a speed-up, a rate in the unit of what limits), and over which parameter.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "family/figure.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// A number, and its 95 % interval where it has one.
struct Estimate {
  double value = 0;
  std::optional<double> low;
  std::optional<double> high;
};

struct ChartPoint {
  double x = 0;
  Estimate y;
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;  ///< by x
};

struct LineChart {
  std::string
      title;  ///< what all series share and other charts of the experiment do not; may be ""
  std::string x_label;
  std::string y_label;
  std::vector<ChartSeries> series;
};

/// What a bar is of.
enum class BarKind { kernel, baseline, library };
std::string_view name_of(BarKind kind);

struct ChartBar {
  std::string label;
  Estimate length;
  BarKind kind = BarKind::kernel;
};

/// Bars of one problem.
struct BarGroup {
  std::string title;  ///< "" where there is one group
  std::vector<ChartBar> bars;
};

struct BarChart {
  std::string label;
  std::vector<BarGroup> groups;
  std::optional<double> reference;  ///< a length that bars are held against: a speed-up of 1
};

/// Predicted times over measured ones.
struct PredictionChart {
  struct Point {
    std::string name;
    double measured_us;
    double predicted_us;
  };
  std::vector<Point> points;
};

using Chart = std::variant<LineChart, BarChart>;

/// None where fewer than two rows have the number that the figure shows; several where series of
/// all other parameters in one chart would be too many to tell apart.
std::vector<Chart> charts_of(const ExperimentResults& experiment, const Figure* declared);

/// Of all rows that were timed and predicted.
PredictionChart prediction_chart(const RecordTable& table);

}  // namespace gpuexp
