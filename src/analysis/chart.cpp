#include "analysis/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "analysis/chart_quantity.hpp"
#include "analysis/sweep_headline.hpp"

namespace gpuexp {

namespace {

constexpr std::size_t kLeastSwept = 3;  // values that make a line
constexpr std::size_t kLeastInPlaceOfBars = 5;
constexpr std::size_t kMostSeries = 8;  // colours that can be told apart

// Kinds of figures that have bars though a size varies.
constexpr std::array<std::string_view, 7> kBarKinds{
    "ladder",    "share_of_copy",       "times_by_type", "metrics_by_type",
    "row_pitch", "error_against_speed", "vocab_padding"};

ChartRange range_of(const std::vector<Estimate>& estimates) {
  ChartRange range{estimates.front().value, estimates.front().value};
  for (const Estimate& e : estimates) {
    range.low = std::min({range.low, e.value, e.low.value_or(e.value)});
    range.high = std::max({range.high, e.value, e.high.value_or(e.value)});
  }
  return range;
}

struct ChartSweep {
  const ResultAxis* axis;
  std::string label;
};

const ResultAxis* varying_axis(const ExperimentResults& e, const std::string& column) {
  const ColumnHandle handle = column_named(column);
  const auto found = std::find_if(e.axes.begin(), e.axes.end(), [&](const ResultAxis& axis) {
    return axis.varies && axis.numeric && axis.column == handle;
  });
  return found == e.axes.end() ? nullptr : &*found;
}

std::string axis_label(const ResultAxis& axis) {
  return axis.unit.empty() ? axis.label : fmt::format("{} ({})", axis.label, axis.unit);
}

bool is_of_bars(const Figure* declared) {
  return declared &&
         std::find(kBarKinds.begin(), kBarKinds.end(), declared->kind) != kBarKinds.end();
}

// The declared axis where it varies, else the one with the most values. In place of bars, one that
// has more values than there are variants: those are then what the experiment asks about.
std::optional<ChartSweep> chart_sweep(const ExperimentResults& e, const Figure* declared) {
  const std::size_t least =
      is_of_bars(declared)
          ? std::max(kLeastInPlaceOfBars, e.values(&ResultRecord::variant).size() + 1)
          : kLeastSwept;
  const auto is_swept = [&](const ResultAxis* axis) {
    return axis && e.values(axis->column).size() >= least;
  };
  if (declared && !declared->axes.empty()) {
    const FigureAxis& wanted = declared->axes.front();
    const ResultAxis* axis = varying_axis(e, wanted.column);
    if (is_swept(axis)) return ChartSweep{axis, wanted.label};
  }
  const ResultAxis* axis = swept_axis(e);
  if (!is_swept(axis)) return std::nullopt;
  return ChartSweep{axis, axis_label(*axis)};
}

/// What tells series apart besides the swept parameter.
struct SeriesPart {
  std::string label;  ///< "" for the variant and the mode, which say what they are
  ColumnHandle column;
};

std::vector<SeriesPart> series_parts(const ExperimentResults& e, const ResultAxis& swept) {
  std::vector<SeriesPart> parts{{"", column_of(&ResultRecord::variant)}};
  for (const ResultAxis& axis : e.axes) {
    if (axis.varies && axis.column != swept.column) parts.push_back({axis.label, axis.column});
  }
  if (e.values(&ResultRecord::mode).size() > 1)
    parts.push_back({"", column_of(&ResultRecord::mode)});
  return parts;
}

std::string part_text(const SeriesPart& part, const ResultRecord& row) {
  const std::string value = part.column.text(row);
  return part.label.empty() || value.empty() ? value : fmt::format("{} = {}", part.label, value);
}

std::string joined_parts(const std::vector<SeriesPart>& parts, const ResultRecord& row) {
  std::string text;
  for (const SeriesPart& part : parts) {
    const std::string value = part_text(part, row);
    if (!value.empty()) text += (text.empty() ? "" : ", ") + value;
  }
  return text;
}

std::size_t count_of_series(const ExperimentResults& e, const std::vector<SeriesPart>& parts) {
  std::vector<std::string> names;
  for (const ResultRecord& row : e.rows)
    names.push_back(joined_parts(parts, row));
  std::sort(names.begin(), names.end());
  return static_cast<std::size_t>(std::unique(names.begin(), names.end()) - names.begin());
}

// Moves parts behind the variant to `panels`, the last first, until the rest can be told apart.
std::vector<SeriesPart> take_panels(const ExperimentResults& e, std::vector<SeriesPart>& parts) {
  std::vector<SeriesPart> panels;
  while (parts.size() > 1 && count_of_series(e, parts) > kMostSeries) {
    panels.insert(panels.begin(), std::move(parts.back()));
    parts.pop_back();
  }
  return panels;
}

ChartSeries& series_named(LineChart& chart, const std::string& name) {
  const auto found = std::find_if(chart.series.begin(), chart.series.end(),
                                  [&](const ChartSeries& s) { return s.name == name; });
  return found != chart.series.end() ? *found : chart.series.emplace_back(ChartSeries{name, {}});
}

std::size_t points_in(const LineChart& chart) {
  std::size_t count = 0;
  for (const ChartSeries& s : chart.series)
    count += s.points.size();
  return count;
}

std::vector<Chart> line_charts(const ExperimentResults& e, const ChartSweep& sweep,
                               const ChartQuantity& quantity) {
  std::vector<SeriesPart> parts = series_parts(e, *sweep.axis);
  const std::vector<SeriesPart> panels = take_panels(e, parts);
  std::vector<std::string> titles;
  std::map<std::string, LineChart> by_title;
  std::vector<Estimate> shown;
  for (const ResultRecord& row : e.rows) {
    const auto x = sweep.axis->column.number(row);
    const auto y = quantity.of(row);
    if (!x || !y) continue;
    const std::string title = joined_parts(panels, row);
    const auto [found, is_new] =
        by_title.try_emplace(title, LineChart{title, sweep.label, quantity.label, {}});
    shown.push_back(*y);
    if (is_new) titles.push_back(title);
    series_named(found->second, joined_parts(parts, row)).points.push_back({*x, *y});
  }
  std::vector<Chart> charts;
  for (const std::string& title : titles) {
    LineChart& chart = by_title.at(title);
    chart.range = range_of(shown);
    for (ChartSeries& s : chart.series) {
      std::stable_sort(s.points.begin(), s.points.end(),
                       [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
    }
    if (points_in(chart) > 1) charts.emplace_back(std::move(chart));
  }
  return charts;
}

BarKind bar_kind(const ResultRecord& row) {
  if (row.is_vendor()) return BarKind::library;
  return row.variant == row.baseline ? BarKind::baseline : BarKind::kernel;
}

// Bars by problem, in the order in which problems first appear.
std::vector<BarChart> bars_by_problem(const ExperimentResults& e, const ChartQuantity& quantity) {
  std::vector<BarChart> charts;
  const Places places(e);
  std::map<std::string, std::size_t> charts_by_place;
  for (const ResultRecord& row : e.rows) {
    const auto length = quantity.of(row);
    if (!length) continue;
    const std::string title = places.of(row);
    const auto [found, is_new] = charts_by_place.try_emplace(title, charts.size());
    if (is_new) charts.push_back({title, quantity.label, {}, quantity.reference});
    charts[found->second].bars.push_back({row.variant, *length, bar_kind(row)});
  }
  return charts;
}

std::vector<Estimate> estimates_in(const std::vector<BarChart>& charts) {
  std::vector<Estimate> estimates;
  for (const BarChart& chart : charts) {
    for (const ChartBar& bar : chart.bars)
      estimates.push_back(bar.length);
  }
  return estimates;
}

// Problems of one bar each stand in one chart.
std::vector<BarChart> joined_single_bars(std::vector<BarChart> charts) {
  const bool are_single = charts.size() > 1 &&
                          std::all_of(charts.begin(), charts.end(),
                                      [](const BarChart& chart) { return chart.bars.size() == 1; });
  if (!are_single) return charts;
  BarChart joined = charts.front();
  joined.title.clear();
  joined.bars.clear();
  for (BarChart& chart : charts) {
    ChartBar& bar = chart.bars.front();
    bar.label = chart.title.empty() ? bar.label : chart.title;
    joined.bars.push_back(std::move(bar));
  }
  return {joined};
}

std::vector<Chart> bar_charts(const ExperimentResults& e, const ChartQuantity& quantity) {
  std::vector<BarChart> charts = joined_single_bars(bars_by_problem(e, quantity));
  const std::vector<Estimate> lengths = estimates_in(charts);
  if (lengths.size() < 2) return {};
  for (BarChart& chart : charts)
    chart.range = range_of(lengths);
  return {charts.begin(), charts.end()};
}

}  // namespace

std::string_view name_of(BarKind kind) {
  switch (kind) {
    case BarKind::kernel: return "kernel";
    case BarKind::baseline: return "baseline";
    case BarKind::library: return "library";
  }
  return "";
}

std::vector<Chart> charts_of(const ExperimentResults& e, const Figure* declared) {
  const ChartQuantity quantity =
      chart_quantity(e, declared ? std::string_view(declared->kind) : std::string_view());
  const auto sweep = chart_sweep(e, declared);
  return sweep ? line_charts(e, *sweep, quantity) : bar_charts(e, quantity);
}

PredictionChart prediction_chart(const RecordTable& table) {
  PredictionChart chart;
  for (const ResultRecord& row : table.rows) {
    const auto time = row.time_us();
    if (!time || !(*time > 0) || !row.predicted_time_us) continue;
    const double ratio = *row.predicted_time_us / *time;
    if (!(ratio > 0) || !std::isfinite(ratio)) continue;
    chart.points.push_back({row.key, *time, *row.predicted_time_us});
  }
  return chart;
}

}  // namespace gpuexp
