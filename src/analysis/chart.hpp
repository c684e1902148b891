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

#include "analysis/estimate.hpp"
#include "family/figure.hpp"
#include "results/results.hpp"

namespace gpuexp {

struct ChartPoint {
  double x = 0;
  Estimate y;
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;  ///< by x
};

/// Of all numbers of an experiment's charts, and of their intervals: charts beside each other have
/// one scale.
struct ChartRange {
  double low = 0;
  double high = 0;
};

struct LineChart {
  std::string
      title;  ///< what all series share and other charts of the experiment do not; may be ""
  std::string x_label;
  std::string y_label;
  std::vector<ChartSeries> series;
  ChartRange range = {};
};

/// What a bar is of.
enum class BarKind { kernel, baseline, library };
std::string_view name_of(BarKind kind);

struct ChartBar {
  std::string label;
  Estimate length;
  BarKind kind = BarKind::kernel;
};

/// Bars of one problem, or of several that have one bar each.
struct BarChart {
  std::string title;  ///< the problem; "" where there is one chart
  std::string label;
  std::vector<ChartBar> bars;
  std::optional<double> reference;  ///< a length that bars are held against: a speed-up of 1
  ChartRange range = {};
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

/// None where fewer than two rows have the number that the figure shows. Several of bars where
/// there are several problems, and of lines where those of all other parameters in one chart would
/// be too many to tell apart.
std::vector<Chart> charts_of(const ExperimentResults& experiment, const Figure* declared);

/// Of all rows that were timed and predicted.
PredictionChart prediction_chart(const RecordTable& table);

}  // namespace gpuexp
