#include "analysis/row_labels.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace gpuexp {

std::string title_of(const ExperimentResults& e) {
  const std::string family = e.constant(&ResultRecord::family);
  return printable(family.empty() || family == e.name ? e.name : e.name + ": " + family);
}

std::vector<std::string> shared_facts(const ExperimentResults& e) {
  std::vector<std::string> facts;
  for (const ResultAxis& axis : e.axes) {
    if (axis.varies) continue;
    const std::string unit = axis.unit.empty() ? "" : " " + axis.unit;
    facts.push_back(printable(fmt::format("{} = {}{}", axis.label, e.constant(axis.column), unit)));
  }
  if (!e.constant(&ResultRecord::mode).empty())
    facts.push_back(printable(e.constant(&ResultRecord::mode)));
  return facts;
}

std::vector<RowLabel> row_labels(const ExperimentResults& e) {
  std::vector<RowLabel> columns{{"variant", column_of(&ResultRecord::variant), false}};
  for (const ResultAxis& axis : e.axes) {
    if (!axis.varies) continue;
    columns.push_back(
        {axis.unit.empty() ? axis.label : fmt::format("{} ({})", axis.label, axis.unit),
         axis.column, axis.numeric});
  }
  if (e.values(&ResultRecord::mode).size() > 1)
    columns.push_back({"mode", column_of(&ResultRecord::mode), false});
  if (e.values(&ResultRecord::gpu_uuid).size() > 1)
    columns.push_back({"GPU", column_of(&ResultRecord::gpu_uuid), false});
  return columns;
}

}  // namespace gpuexp
