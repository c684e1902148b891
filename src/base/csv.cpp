#include "base/csv.hpp"

#include <cmath>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

namespace gpuexp {

namespace {

constexpr std::string_view kLineEnd = "\r\n";

void append_quoted(std::string& line, std::string_view text) {
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

struct AppendField {
  std::string& line;

  void operator()(std::monostate) const {}
  void operator()(std::int64_t value) const { line += fmt::format_int(value).c_str(); }
  void operator()(double value) const {
    if (std::isfinite(value)) fmt::format_to(std::back_inserter(line), "{}", value);
  }
  void operator()(const std::string& value) const {
    if (value.find_first_of(",\"\r\n") == std::string::npos) {
      line += value;
    } else {
      append_quoted(line, value);
    }
  }
};

void append_line(std::string& text, const std::vector<Field>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) text += ',';
    std::visit(AppendField{text}, fields[i]);
  }
  text += kLineEnd;
}

}  // namespace

std::string csv_line(const std::vector<Field>& fields) {
  std::string line;
  append_line(line, fields);
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
  std::string text;
  print_csv(
      table.columns, table.rows.size(), [&](std::size_t row) { return table.rows[row]; },
      [&](std::string_view part) { text += part; });
  return text;
}

void print_csv(const std::vector<ColumnInfo>& columns, std::size_t rows,
               const std::function<std::vector<Field>(std::size_t row)>& fields_of_row,
               const WritePart& write) {
  std::string text = csv_header(columns);
  for (std::size_t row = 0; row < rows; ++row) {
    append_line(text, fields_of_row(row));
    if (text.size() < kPartBytes) continue;
    write(text);
    text.clear();
  }
  write(text);
}

CsvWriter::CsvWriter(Output& output, const std::vector<ColumnInfo>& columns)
    : output_(output), column_count_(columns.size()) {
  output_.write(csv_header(columns));
  output_.flush();
}

void CsvWriter::write_row(const std::vector<Field>& fields) {
  if (fields.size() != column_count_) {
    throw std::invalid_argument(fmt::format("the row has {} fields; the table has {} columns",
                                            fields.size(), column_count_));
  }
  output_.write(csv_line(fields));
  output_.flush();
}

}  // namespace gpuexp
