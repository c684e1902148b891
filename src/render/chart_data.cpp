#include "render/chart_data.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/row_labels.hpp"
#include "base/text.hpp"
#include "results/reference_rows.hpp"

namespace gpuexp {

namespace {

constexpr int kChartDigits = 5;

using Number = std::optional<double>;

template <class Of>
void add_numbers(Json& json, const std::string& name, const ExperimentResults& e,
                 const Of& number_of) {
  Json numbers = Json::array();
  bool is_known = false;
  for (const ResultRecord& row : e.rows) {
    const Number number = row.has_values() ? number_of(row) : std::nullopt;
    const bool has_number = number && std::isfinite(*number);
    is_known = is_known || has_number;
    numbers.push_back(has_number ? Json(std::stod(significant(*number, kChartDigits))) : Json());
  }
  if (is_known) json[name] = std::move(numbers);
}

// Adds both ends of the intervals of time and speedup, each divided by the value.
void add_intervals(Json& json, const ExperimentResults& e) {
  const ReferenceRows baselines(
      e, [](const ResultRecord& row) { return row.variant == row.baseline && row.time_us(); });
  const auto add_end = [&](const std::string& end, auto time_end, double Interval::*ratio_end) {
    add_numbers(json, "time_" + end, e, [&](const ResultRecord& row) -> Number {
      const auto time = row.time_us();
      return time && row.*time_end ? Number(*(row.*time_end) / *time) : std::nullopt;
    });
    add_numbers(json, "speedup_" + end, e, [&](const ResultRecord& row) -> Number {
      const ResultRecord* const baseline = baselines.find(row.baseline, row);
      if (!row.speedup || !baseline || baseline == &row) return std::nullopt;
      const auto ratio = ratio_of(row, *baseline);
      return ratio ? Number(ratio->ci95.*ratio_end / *row.speedup) : std::nullopt;
    });
  };
  add_end("low", &ResultRecord::time_ci95_low_us, &Interval::low);
  add_end("high", &ResultRecord::time_ci95_high_us, &Interval::high);
}

// Names the axis by its heading in row_labels().
Json json_of_plot(const ExperimentResults& e, const Plot& plot) {
  Json json = {{"kind", plot.kind}};
  if (plot.axes.empty()) return json;
  const ColumnHandle axis = column_named(plot.axes.front().column);
  for (const RowLabel& label : row_labels(e)) {
    if (!label.is_number || !(label.column == axis)) continue;
    json["axis"] = printable(label.heading);
    json["label"] = plot.axes.front().label;
  }
  return json;
}

void add_roofline(Json& json, const ExperimentResults& e) {
  const auto in_roofline = [](const ResultRecord& row) {
    return row.has_values() && row.arithmetic_intensity && row.tflops && !row.is_above_limit();
  };
  add_numbers(json, "intensity", e, [&](const ResultRecord& row) {
    return in_roofline(row) ? row.arithmetic_intensity : std::nullopt;
  });
  if (!json.contains("intensity")) return;
  add_numbers(json, "tflops", e, [&](const ResultRecord& row) {
    return in_roofline(row) ? row.tflops : std::nullopt;
  });
  json["intensity_from"] = e.values(&ResultRecord::intensity_from);
  std::vector<std::string> pipes = e.values(&ResultRecord::limit_by);
  std::erase(pipes, "dram");
  json["pipes"] = pipes.empty() ? std::vector<std::string>{"fp32"} : pipes;
}

}  // namespace

Json chart_data(const ExperimentResults& e, const Family* family) {
  Json json = Json::object();
  if (family && !family->plots.empty()) json["figure"] = json_of_plot(e, family->plots.front());
  json["baseline"] = printable(e.constant(&ResultRecord::baseline));
  std::vector<std::string> libraries;
  Json above = Json::array();
  for (std::size_t i = 0; i < e.rows.size(); ++i) {
    const ResultRecord& row = e.rows[i];
    if (row.is_vendor() &&
        std::find(libraries.begin(), libraries.end(), row.variant) == libraries.end())
      libraries.push_back(row.variant);
    if (row.has_values() && row.is_above_limit()) above.push_back(i);
  }
  json["libraries"] = libraries;
  if (!above.empty()) json["above_limit"] = std::move(above);
  add_intervals(json, e);
  add_numbers(json, "prediction_error", e,
              [](const ResultRecord& row) { return row.prediction_error; });
  add_roofline(json, e);
  return json;
}

}  // namespace gpuexp
