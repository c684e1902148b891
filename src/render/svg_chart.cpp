#include "render/svg_chart.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "base/time_unit.hpp"
#include "render/html.hpp"
#include "render/svg_drawing.hpp"

namespace gpuexp {

namespace {

constexpr double kWidth = 440;
constexpr double kTop = 30;
constexpr double kBottomRoom = 44;
constexpr double kRightRoom = 14;
constexpr double kPlotHeight = 200;
constexpr double kBarStep = 20;
constexpr double kBarHeight = 14;
constexpr double kBarTop = 6;
constexpr double kLabelGap = 7;
constexpr double kTextBase = 4;  // below the middle of a line of text
// Numbers that differ by more than this factor are shown by their logarithms.
constexpr double kWideRange = 30;

const char* const kIntervalWords = "whiskers: 95 % interval of the median";

std::string estimate_text(const Estimate& e) {
  if (!e.low || !e.high) return short_number(e.value);
  return fmt::format("{} ({} to {})", short_number(e.value), short_number(*e.low),
                     short_number(*e.high));
}

// An interval of a few pixels or more.
bool is_drawn(const Estimate& e, const SvgScale& scale) {
  constexpr double kLeastPixels = 3;
  return e.low && e.high && (scale.kind() == ScaleKind::linear || *e.low > 0) &&
         std::abs(scale.at(*e.high) - scale.at(*e.low)) >= kLeastPixels;
}

ChartRange range_of_numbers(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, *high};
}

bool has_wide_range(const ChartRange& range) {
  return range.low > 0 && range.high / range.low > kWideRange;
}

std::string figure_element(std::string_view title, const std::string& svg,
                           const std::string& legend, std::string_view words) {
  std::string html = "<figure>";
  if (!title.empty()) html += fmt::format("<p class=\"panel\">{}</p>", escape_html(title));
  html += "<div class=\"scroll\">" + svg + "</div>" + legend;
  if (!words.empty()) html += html_element("figcaption", words);
  return html + "</figure>\n";
}

std::string legend_item(std::string_view css, std::string_view name) {
  return fmt::format(
      "<li><svg viewBox=\"0 0 26 10\" aria-hidden=\"true\"><path class=\"{}\" d=\"M0 5L26 "
      "5\"/></svg>{}</li>",
      css, escape_html(name));
}

std::string series_class(std::size_t i) {
  const std::size_t dash = i / kSvgColours % 4;
  return fmt::format("line s{}{}", i % kSvgColours, dash == 0 ? "" : fmt::format(" d{}", dash));
}

/// Draws the lines of one chart.
class LineFigure {
 public:
  explicit LineFigure(const LineChart& chart)
      : chart_(chart),
        y_(y_scale(chart)),
        left_(left_room(y_)),
        x_(x_scale(chart, left_)),
        drawing_(kWidth, kTop + kPlotHeight + kBottomRoom,
                 fmt::format("{} over {}", chart.y_label, chart.x_label)) {}

  std::string figure() {
    const double bottom = kTop + kPlotHeight;
    drawing_.y_axis(y_, left_, kWidth - kRightRoom, kTop, chart_.y_label);
    drawing_.x_axis(x_, kTop, bottom, chart_.x_label, (left_ + kWidth) / 2);
    for (std::size_t i = 0; i < chart_.series.size(); ++i)
      draw(chart_.series[i], i);
    std::string legend = "<ul class=\"legend\">";
    for (std::size_t i = 0; i < chart_.series.size(); ++i)
      legend += legend_item(series_class(i), chart_.series[i].name);
    return figure_element(chart_.title, drawing_.take(), legend + "</ul>",
                          has_intervals_ ? kIntervalWords : "");
  }

 private:
  // Rates from 0 on; what spans many factors, by its logarithm.
  static SvgScale y_scale(const LineChart& chart) {
    const ChartRange& range = chart.range;
    const double bottom = kTop + kPlotHeight;
    constexpr double kRoom = 1.06;
    if (has_wide_range(range))
      return {ScaleKind::decades, range.low / 1.2, range.high * 1.2, bottom, kTop};
    return {ScaleKind::linear, std::min(0.0, range.low), kRoom * std::max(0.0, range.high), bottom,
            kTop};
  }

  static double left_room(const SvgScale& y) {
    double width = 0;
    for (const double tick : y.ticks(6))
      width = std::max(width, svg_text_width(y.tick_text(tick)));
    return width + 10;
  }

  static SvgScale x_scale(const LineChart& chart, double left) {
    std::vector<double> values;
    for (const ChartSeries& s : chart.series) {
      for (const ChartPoint& p : s.points)
        values.push_back(p.x);
    }
    const ChartRange range = range_of_numbers(values);
    constexpr double kMargin = 8;
    return {scale_for(values), range.low, range.high, left + kMargin,
            kWidth - kRightRoom - kMargin};
  }

  void draw(const ChartSeries& series, std::size_t number) {
    std::string places;
    for (const ChartPoint& p : series.points)
      places += fmt::format("{}{},{}", places.empty() ? "" : " ", svg_number(x_.at(p.x)),
                            svg_number(y_.at(p.y.value)));
    drawing_.polyline(places, series_class(number));
    const std::string css = fmt::format("s{}", number % kSvgColours);
    for (const ChartPoint& p : series.points) {
      const double x = x_.at(p.x);
      if (is_drawn(p.y, y_)) {
        has_intervals_ = true;
        drawing_.line(x, y_.at(*p.y.low), x, y_.at(*p.y.high), "whisker " + css);
      }
      drawing_.dot(x, y_.at(p.y.value), css,
                   fmt::format("{}: {} at {}", series.name, estimate_text(p.y), binary_text(p.x)));
    }
  }

  const LineChart& chart_;
  SvgScale y_;
  double left_;
  SvgScale x_;
  SvgDrawing drawing_;
  bool has_intervals_ = false;
};

std::string shortened_label(const std::string& label) {
  constexpr std::size_t kMostColumns = 24;
  if (display_width(label) <= kMostColumns) return label;
  // Names are ASCII but for what a file from elsewhere has.
  return label.substr(0, kMostColumns - 1) + "…";
}

/// Draws the bars of one chart, or dots where lengths span many factors.
class BarFigure {
 public:
  explicit BarFigure(const BarChart& chart)
      : chart_(chart),
        left_(label_room(chart)),
        bottom_(kBarTop + kBarStep * static_cast<double>(chart.bars.size())),
        scale_(length_scale(chart, left_)),
        drawing_(kWidth, bottom_ + kBottomRoom, chart.label) {}

  std::string figure() {
    drawing_.x_axis(scale_, kBarTop, bottom_, chart_.label, (left_ + kWidth) / 2);
    if (chart_.reference && is_on_scale(*chart_.reference)) {
      const double x = scale_.at(*chart_.reference);
      drawing_.line(x, kBarTop, x, bottom_, "mark");
    }
    for (std::size_t i = 0; i < chart_.bars.size(); ++i)
      draw(chart_.bars[i], kBarTop + kBarStep * (static_cast<double>(i) + 0.5));
    return figure_element(chart_.title, drawing_.take(), legend(),
                          has_intervals_ ? kIntervalWords : "");
  }

 private:
  static double label_room(const BarChart& chart) {
    double width = 0;
    for (const ChartBar& bar : chart.bars)
      width = std::max(width, svg_text_width(shortened_label(bar.label)));
    return width + kLabelGap;
  }

  static SvgScale length_scale(const BarChart& chart, double left) {
    const ChartRange& range = chart.range;
    double text = 0;
    for (const ChartBar& bar : chart.bars)
      text = std::max(text, svg_text_width(short_number(bar.length.value)));
    const double right = kWidth - text - kRightRoom;
    if (has_wide_range(range))
      return {ScaleKind::decades, range.low / 1.3, range.high, left, right};
    const double high = std::max({range.high, chart.reference.value_or(0), 0.0});
    return {ScaleKind::linear, std::min(0.0, range.low), high, left, right};
  }

  bool is_on_scale(double value) const {
    return (scale_.kind() == ScaleKind::linear || value > 0) && scale_.at(value) >= left_ &&
           scale_.at(value) <= kWidth;
  }

  static std::string css_of(BarKind kind) {
    switch (kind) {
      case BarKind::kernel: return "s0";
      case BarKind::baseline: return "s7";
      case BarKind::library: return "s1";
    }
    return "s0";
  }

  void draw(const ChartBar& bar, double middle) {
    const double end = scale_.at(bar.length.value);
    const std::string css = css_of(bar.kind);
    const std::string title = fmt::format("{}: {}", bar.label, estimate_text(bar.length));
    drawing_.text(left_ - kLabelGap, middle + kTextBase, "end", shortened_label(bar.label));
    double text = end;
    if (scale_.kind() == ScaleKind::linear) {
      const double zero = scale_.at(0);
      drawing_.rectangle(std::min(zero, end), middle - kBarHeight / 2, std::abs(end - zero),
                         kBarHeight, css, title);
    } else {
      drawing_.dot(end, middle, css, title);
    }
    if (is_drawn(bar.length, scale_)) {
      has_intervals_ = true;
      text = std::max(end, scale_.at(*bar.length.high));
      drawing_.line(scale_.at(*bar.length.low), middle, text, middle, "whisker ink");
    }
    drawing_.text(text + kLabelGap, middle + kTextBase, "start", short_number(bar.length.value));
  }

  // Where there is more than one kind of bars.
  std::string legend() const {
    std::vector<BarKind> kinds;
    for (const ChartBar& bar : chart_.bars) {
      if (std::find(kinds.begin(), kinds.end(), bar.kind) == kinds.end()) kinds.push_back(bar.kind);
    }
    if (kinds.size() < 2) return "";
    std::string html = "<ul class=\"legend\">";
    for (const BarKind kind : kinds)
      html += legend_item("line bar " + css_of(kind), name_of(kind));
    return html + "</ul>";
  }

  const BarChart& chart_;
  double left_;
  double bottom_;
  SvgScale scale_;
  SvgDrawing drawing_;
  bool has_intervals_ = false;
};

}  // namespace

std::string svg_figure(const Chart& chart) {
  if (const auto* lines = std::get_if<LineChart>(&chart)) return LineFigure(*lines).figure();
  return BarFigure(std::get<BarChart>(chart)).figure();
}

std::string svg_figure(const PredictionChart& chart) {
  std::vector<double> times;
  std::vector<double> ratios{0.5, 2.0};
  for (const PredictionChart::Point& p : chart.points) {
    times.push_back(p.measured_us);
    ratios.push_back(p.predicted_us / p.measured_us);
  }
  constexpr double kRoom = 1.1;
  constexpr double kLeft = 36;
  const ChartRange x_ends = range_of_numbers(times);
  const ChartRange y_ends = range_of_numbers(ratios);
  const double bottom = kTop + kPlotHeight;
  const double right = kWidth - kRightRoom;
  const SvgScale x(ScaleKind::decades, x_ends.low / kRoom, x_ends.high * kRoom, kLeft, right);
  const SvgScale y(ScaleKind::decades, y_ends.low / kRoom, y_ends.high * kRoom, bottom, kTop);
  SvgDrawing drawing(kWidth, bottom + kBottomRoom, "predicted over measured time");
  drawing.y_axis(y, kLeft, right, kTop, "predicted over measured time");
  drawing.x_axis(x, kTop, bottom, "measured time (µs)", (kLeft + right) / 2);
  drawing.line(kLeft, y.at(1), right, y.at(1), "mark");
  for (const PredictionChart::Point& p : chart.points) {
    drawing.dot(x.at(p.measured_us), y.at(p.predicted_us / p.measured_us), "s0 faint",
                fmt::format("{}: predicted {}, measured {}", p.name, time_text(p.predicted_us),
                            time_text(p.measured_us)));
  }
  return figure_element("", drawing.take(), "",
                        "a dot per row: on the line its prediction is right, below it too short");
}

}  // namespace gpuexp
