#include "results/results.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gpuexp {

namespace {

bool equal_in_every_row(const ExperimentResults& e, const ColumnHandle& a, const ColumnHandle& b) {
  return std::ranges::all_of(e.rows, [&](const ResultRecord& r) { return a.text(r) == b.text(r); });
}

ResultAxis axis_of(const ExperimentResults& e, const RecordColumn& column) {
  ResultAxis axis;
  axis.label = column.handle.name;
  axis.column = column.handle;
  axis.unit = column.unit;
  axis.varies = e.values(axis.column).size() > 1;
  axis.numeric = std::ranges::all_of(e.rows, [&](const ResultRecord& r) {
    return axis.column.text(r).empty() || axis.column.number(r);
  });
  return axis;
}

void add_axis(ExperimentResults& e, const RecordColumn& column) {
  ResultAxis axis = axis_of(e, column);
  const auto twin = std::ranges::find_if(e.axes, [&](const ResultAxis& other) {
    return axis.varies && other.varies && equal_in_every_row(e, axis.column, other.column);
  });
  if (twin == e.axes.end()) {
    e.axes.push_back(std::move(axis));
  } else {
    twin->label += " = " + axis.label;
  }
}

// True if rows with values differ in the metric, or only some of them have it.
bool differs_between_rows(const ExperimentResults& e, const ColumnHandle& column) {
  std::optional<std::string> first;
  for (const ResultRecord& row : e.rows) {
    if (!row.has_values()) continue;
    if (!first) first = column.text(row);
    if (column.text(row) != *first) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> ExperimentResults::values(const ColumnHandle& column) const {
  std::vector<std::string> found;
  std::unordered_set<std::string> known;
  for (const ResultRecord& row : rows) {
    std::string value = column.text(row);
    if (value.empty() || !known.insert(value).second) continue;
    found.push_back(std::move(value));
  }
  return found;
}

std::vector<std::string> ExperimentResults::values(const RecordMember& member) const {
  return values(column_of(member));
}

std::string ExperimentResults::constant(const ColumnHandle& column) const {
  const auto found = values(column);
  return found.size() == 1 ? found.front() : "";
}

std::string ExperimentResults::constant(const RecordMember& member) const {
  return constant(column_of(member));
}

ExperimentResults experiment_of(std::string name, const std::vector<RecordColumn>& columns,
                                std::vector<RecordRef> rows) {
  ExperimentResults e;
  e.name = std::move(name);
  e.columns = &columns;
  e.rows = std::move(rows);
  for (const RecordColumn& column : columns) {
    const ColumnHandle& handle = column.handle;
    if (handle.group == &ResultRecord::parameters && !e.values(handle).empty()) {
      e.parameters.push_back(handle);
      add_axis(e, column);
    }
    if (handle.group == &ResultRecord::metrics && differs_between_rows(e, handle))
      e.metrics.push_back(handle);
  }
  return e;
}

std::vector<ExperimentResults> experiments_of(const RecordTable& table) {
  return experiments_of(table.columns, {table.rows.begin(), table.rows.end()});
}

std::vector<ExperimentResults> experiments_of(const std::vector<RecordColumn>& columns,
                                              const std::vector<RecordRef>& rows) {
  std::vector<std::pair<std::string, std::vector<RecordRef>>> by_name;
  std::unordered_map<std::string, std::size_t> positions;
  for (const ResultRecord& row : rows) {
    const auto [position, is_new] = positions.try_emplace(row.experiment, by_name.size());
    if (is_new) by_name.emplace_back(row.experiment, std::vector<RecordRef>{});
    by_name[position->second].second.emplace_back(row);
  }
  std::vector<ExperimentResults> experiments;
  experiments.reserve(by_name.size());
  for (auto& [name, its_rows] : by_name)
    experiments.push_back(experiment_of(name, columns, std::move(its_rows)));
  return experiments;
}

std::string place_of(const ExperimentResults& e, const ResultRecord& row) {
  std::vector<std::string> parts;
  if (!row.gpu_uuid.empty() && e.values(&ResultRecord::gpu_uuid).size() > 1)
    parts.push_back(row.gpu_uuid);
  for (const ResultAxis& axis : e.axes) {
    const std::string value = axis.varies ? axis.column.text(row) : "";
    if (!value.empty()) parts.push_back(fmt::format("{} = {}", axis.label, value));
  }
  if (e.values(&ResultRecord::mode).size() > 1) parts.push_back(mode_text(row));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string group_of(const ExperimentResults& experiment, const ResultRecord& row) {
  std::string key = mode_text(row) + '\0' + row.gpu_uuid;
  for (const ResultAxis& axis : experiment.axes)
    key += '\0' + axis.column.text(row);
  return key;
}

}  // namespace gpuexp
