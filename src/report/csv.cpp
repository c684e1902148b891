#include "report/csv.hpp"

#include <cmath>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

namespace gpuexp {

namespace {

constexpr std::string_view kLineEnd = "\r\n";

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

struct FieldText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const {
    return std::isfinite(value) ? fmt::format("{}", value) : "";
  }
  std::string operator()(const std::string& value) const {
    return value.find_first_of(",\"\r\n") == std::string::npos ? value : quoted(value);
  }
};

}  // namespace

std::string csv_line(const std::vector<Field>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line += ',';
    line += std::visit(FieldText{}, fields[i]);
  }
  line += kLineEnd;
  return line;
}

std::string csv_header(const std::vector<ColumnInfo>& columns) {
  std::vector<Field> names;
  names.reserve(columns.size());
  for (const ColumnInfo& column : columns)
    names.emplace_back(column.name);
  return csv_line(names);
}

std::string to_csv(const Table& table) {
  std::string text = csv_header(table.columns);
  for (const std::vector<Field>& row : table.rows)
    text += csv_line(row);
  return text;
}

CsvWriter::CsvWriter(Output& output, const std::vector<ColumnInfo>& columns)
    : output_(output), column_count_(columns.size()) {
  output_.write(csv_header(columns));
  output_.flush();
}

void CsvWriter::write_row(const std::vector<Field>& fields) {
  if (fields.size() != column_count_) {
    throw std::invalid_argument(
        fmt::format("a row of {} fields in a table of {} columns", fields.size(), column_count_));
  }
  output_.write(csv_line(fields));
  output_.flush();
}

}  // namespace gpuexp
