#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/headline.hpp"
#include "analysis/sentence_fragments.hpp"
#include "family/family.hpp"

namespace gpuexp {

namespace {

constexpr double kMaxSpread = 1.05;

struct Point {
  double x;
  std::string x_text;
  double cycles;
};

std::vector<Point> curve_of(const ExperimentResults& e, const ResultAxis& axis,
                            const std::string& variant) {
  std::vector<Point> points;
  for (const ResultRecord& row : e.rows) {
    const auto x = axis.column.number(row);
    const auto cycles = row.metrics.number(kStepCyclesMetric);
    if (row.variant == variant && x && cycles && *cycles > 0)
      points.push_back({*x, axis.column.text(row), *cycles});
  }
  std::ranges::stable_sort(points, {}, &Point::x);
  return points;
}

std::string range_text(double low, double high) {
  const std::string from = number_fragment(low);
  const std::string to = number_fragment(high);
  return from == to ? from : from + " to " + to;
}

std::string plateau_text(const std::vector<Point>& points, const Plateau& plateau,
                         const std::string& axis) {
  const auto [low, high] =
      std::minmax_element(points.begin() + static_cast<std::ptrdiff_t>(plateau.first),
                          points.begin() + static_cast<std::ptrdiff_t>(plateau.last) + 1,
                          [](const Point& a, const Point& b) { return a.cycles < b.cycles; });
  const bool is_knee = plateau.last + 1 < points.size();
  return fmt::format("{} cycles from {} = {} to {}{}", range_text(low->cycles, high->cycles), axis,
                     points[plateau.first].x_text, points[plateau.last].x_text,
                     is_knee ? " (knee)" : "");
}

std::string curve_text(const std::vector<Point>& points, const std::string& axis) {
  std::vector<double> cycles;
  for (const Point& point : points)
    cycles.push_back(point.cycles);
  std::vector<std::string> parts;
  for (const Plateau& plateau : plateaus_of(cycles))
    parts.push_back(plateau_text(points, plateau, axis));
  if (parts.empty()) return "";
  const bool is_flat = parts.size() == 1 && parts.front().find("(knee)") == std::string::npos;
  return fmt::format("{}{}", fmt::join(parts, ", "), is_flat ? " (no knee)" : "");
}

}  // namespace

std::vector<Plateau> plateaus_of(const std::vector<double>& values) {
  std::vector<Plateau> plateaus;
  for (std::size_t first = 0; first + 1 < values.size();) {
    double low = values[first];
    double high = low;
    std::size_t last = first;
    while (last + 1 < values.size()) {
      const double next = values[last + 1];
      if (std::max(high, next) > kMaxSpread * std::min(low, next)) break;
      low = std::min(low, next);
      high = std::max(high, next);
      ++last;
    }
    if (last > first) plateaus.push_back({first, last});
    first = last + 1;
  }
  return plateaus;
}

std::string latency_headline(const ExperimentResults& e) {
  const ResultAxis* axis = swept_axis(e);
  if (!axis) return "";
  std::vector<std::string> parts;
  for (const std::string& variant : e.values(&ResultRecord::variant)) {
    const std::string text = curve_text(curve_of(e, *axis, variant), axis->label);
    if (!text.empty()) parts.push_back(fmt::format("{}: {}", variant, text));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace gpuexp
