#include "results/csv_write.hpp"

#include "base/csv.hpp"

namespace gpuexp {

std::string to_csv(const RecordTable& table) {
  std::string text;
  print_csv(table, [&](std::string_view part) { text += part; });
  return text;
}

void print_csv(const RecordTable& table, const WritePart& write) {
  print_csv(
      {table.columns.begin(), table.columns.end()}, table.rows.size(),
      [&](std::size_t row) { return fields_of(table.columns, table.rows[row]); }, write);
}

}  // namespace gpuexp
