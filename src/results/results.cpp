#include "results/results.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gpuexp {

namespace {

constexpr std::string_view kParameterPrefix = "param.";
constexpr std::string_view kMetricPrefix = "metric.";

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool equal_in_every_row(const ExperimentResults& e, const std::string& a, const std::string& b) {
  return std::all_of(e.rows.begin(), e.rows.end(),
                     [&](const ResultRow& r) { return r.text(a) == r.text(b); });
}

ResultAxis axis_of(const ExperimentResults& e, const ColumnInfo& column) {
  ResultAxis axis;
  axis.label = column.name.substr(kParameterPrefix.size());
  axis.column = column.name;
  axis.unit = column.unit;
  const auto values = e.values(column.name);
  axis.varies = values.size() > 1;
  axis.numeric = std::all_of(e.rows.begin(), e.rows.end(), [&](const ResultRow& r) {
    return r.text(column.name).empty() || r.number(column.name);
  });
  return axis;
}

std::vector<ResultAxis> axes_of(const ExperimentResults& e) {
  std::vector<ResultAxis> axes;
  for (const ColumnInfo& column : e.table->columns()) {
    if (!starts_with(column.name, kParameterPrefix) || e.values(column.name).empty()) continue;
    ResultAxis axis = axis_of(e, column);
    const auto twin = std::find_if(axes.begin(), axes.end(), [&](const ResultAxis& other) {
      return axis.varies && other.varies && equal_in_every_row(e, axis.column, other.column);
    });
    if (twin == axes.end()) {
      axes.push_back(std::move(axis));
    } else {
      twin->label += " = " + axis.label;
    }
  }
  return axes;
}

// A metric that some passed rows have and others lack differs between them.
bool differs_between_passed(const ExperimentResults& e, const std::string& column) {
  std::optional<std::string> first;
  for (const ResultRow& row : e.rows) {
    if (!row.passed()) continue;
    if (!first) first = row.text(column);
    if (row.text(column) != *first) return true;
  }
  return false;
}

}  // namespace

ResultTable::ResultTable(const Table& table) : table_(&table) {
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    columns_.emplace(table.columns[c].name, c);
}

const Field* ResultTable::field(std::size_t row, std::string_view column) const {
  const auto found = columns_.find(column);
  const std::vector<Field>& fields = table_->rows[row];
  return found == columns_.end() || found->second >= fields.size() ? nullptr
                                                                   : &fields[found->second];
}

Field ResultRow::field(std::string_view column) const {
  const Field* f = find(column);
  return f ? *f : Field{};
}

std::optional<double> ResultRow::number(std::string_view column) const {
  const Field* f = find(column);
  if (!f) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(f)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(f);
  return real && std::isfinite(*real) ? std::optional(*real) : std::nullopt;
}

std::string ResultRow::text(std::string_view column) const {
  const Field* f = find(column);
  if (!f) return "";
  if (const auto* text = std::get_if<std::string>(f)) return *text;
  if (const auto* integer = std::get_if<std::int64_t>(f)) return fmt::format("{}", *integer);
  const auto real = number(column);
  return real ? fmt::format("{}", *real) : "";
}

bool ResultRow::passed() const {
  const Field* f = find("status");
  const auto* status = f ? std::get_if<std::string>(f) : nullptr;
  return status && *status == "passed";
}

bool ResultRow::is_above_limit() const {
  return number("limit_pct").value_or(0) > 100;
}

std::optional<double> ResultRow::time_us() const {
  const auto median = number("time_median_us");
  return passed() && median && *median > 0 ? median : std::nullopt;
}

std::optional<double> ResultRow::half_interval_us() const {
  const auto low = number("time_ci95_low_us");
  const auto high = number("time_ci95_high_us");
  if (!low || !high) return std::nullopt;
  return (*high - *low) / 2;
}

bool clearly_faster(const ResultRow& a, const ResultRow& b) {
  const auto a_time = a.time_us();
  const auto b_time = b.time_us();
  if (!a_time || !b_time) return false;
  // Fewer samples than an interval needs must not look surer than more.
  const auto end = [](const ResultRow& row, const char* interval, const char* extreme,
                      double median) {
    return row.number(interval).value_or(row.number(extreme).value_or(median));
  };
  return end(a, "time_ci95_high_us", "time_p95_us", *a_time) <
         end(b, "time_ci95_low_us", "time_min_us", *b_time);
}

std::optional<Ratio> ratio_of(const ResultRow& fast, const ResultRow& slow) {
  const auto statistics = [](const ResultRow& row) -> std::optional<Statistics> {
    const auto low = row.number("time_ci95_low_us");
    const auto high = row.number("time_ci95_high_us");
    if (!row.time_us() || !low || !high) return std::nullopt;
    Statistics s;
    s.median = *row.time_us();
    s.median_ci95 = Interval{*low, *high};
    return s;
  };
  const auto a = statistics(fast);
  const auto b = statistics(slow);
  return a && b ? ratio_of(*a, *b) : std::nullopt;
}

std::vector<std::string> ExperimentResults::values(std::string_view column) const {
  std::vector<std::string> found;
  std::unordered_set<std::string> known;
  for (const ResultRow& row : rows) {
    std::string value = row.text(column);
    if (value.empty() || !known.insert(value).second) continue;
    found.push_back(std::move(value));
  }
  return found;
}

std::string ExperimentResults::constant(std::string_view column) const {
  const auto found = values(column);
  return found.size() == 1 ? found.front() : "";
}

ExperimentResults experiment_of(std::string name, std::shared_ptr<const ResultTable> table,
                                std::vector<ResultRow> rows) {
  ExperimentResults e;
  e.name = std::move(name);
  e.table = std::move(table);
  e.rows = std::move(rows);
  e.axes = axes_of(e);
  for (const ColumnInfo& column : e.table->columns()) {
    if (starts_with(column.name, kParameterPrefix) && !e.values(column.name).empty())
      e.parameters.push_back(column.name);
    if (starts_with(column.name, kMetricPrefix) && differs_between_passed(e, column.name))
      e.metrics.push_back(column.name);
  }
  return e;
}

std::vector<ExperimentResults> experiments_of(const Table& table) {
  const auto shared = std::make_shared<const ResultTable>(table);
  std::vector<std::pair<std::string, std::vector<ResultRow>>> rows;
  std::unordered_map<std::string, std::size_t> positions;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const ResultRow row(*shared, i);
    const auto [position, is_new] = positions.try_emplace(row.text("experiment"), rows.size());
    if (is_new) rows.emplace_back(position->first, std::vector<ResultRow>{});
    rows[position->second].second.push_back(row);
  }
  std::vector<ExperimentResults> experiments;
  experiments.reserve(rows.size());
  for (auto& [name, its_rows] : rows)
    experiments.push_back(experiment_of(name, shared, std::move(its_rows)));
  return experiments;
}

std::string place_of(const ExperimentResults& experiment, const ResultRow& row) {
  std::vector<std::string> parts;
  for (const ResultAxis& axis : experiment.axes) {
    if (axis.varies) parts.push_back(fmt::format("{} = {}", axis.label, row.text(axis.column)));
  }
  if (experiment.values("mode").size() > 1) parts.push_back(row.text("mode"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string group_of(const ExperimentResults& experiment, const ResultRow& row) {
  std::string key = row.text("mode");
  for (const ResultAxis& axis : experiment.axes)
    key += '\0' + row.text(axis.column);
  return key;
}

}  // namespace gpuexp
