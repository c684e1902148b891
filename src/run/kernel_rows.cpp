#include "run/kernel_rows.hpp"

#include <algorithm>

#include "record/record_table.hpp"

namespace gpuexp {

ColumnInfo counter_info(const SelectedCounter& counter) {
  return {kCounterPrefix + counter.name, counter.unit, FieldType::real, counter.doc};
}

Table empty_kernel_table(const Plan& plan) {
  Table table;
  const auto counters = select_counters(plan.config->counters());
  if (counters.empty()) return table;
  table.columns = {
      {"key", "", FieldType::text, "of the row whose launch it is part of"},
      {"kernel", "", FieldType::integer, "its place in the launch, from 0"},
      {"name", "", FieldType::text, "its name and template arguments; empty where not known"}};
  for (const SelectedCounter& counter : counters)
    table.columns.push_back(counter_info(counter));
  return table;
}

std::vector<std::vector<Field>> kernel_fields_of(const Plan& plan, const Row& row) {
  std::vector<std::vector<Field>> rows;
  if (!row.counts) return rows;
  const auto counters = select_counters(plan.config->counters());
  for (std::size_t i = 0; i < std::min(row.counts->kernels.size(), kMostKernelRows); ++i) {
    std::vector<Field>& fields = rows.emplace_back();
    fields = {row.key, static_cast<std::int64_t>(i),
              text_field(kernel_name(row.counts->kernels[i].kernel))};
    for (const SelectedCounter& counter : counters)
      fields.push_back(number_field(counted(counter, *row.counts, i)));
  }
  return rows;
}

}  // namespace gpuexp
