#include "lesson/recorded_table.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/config_error.hpp"
#include "base/text.hpp"
#include "record/fixed_columns.hpp"
#include "render/markdown.hpp"

namespace gpuexp {

namespace {

class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  bool at_end() const { return text_.empty(); }
  std::size_t line() const { return line_; }

  std::vector<std::string> record() {
    std::vector<std::string> fields{field()};
    while (take(','))
      fields.push_back(field());
    take('\r');
    if (!take('\n') && !at_end()) fail("expected ',' or the end of the line after a quote");
    ++line_;
    return fields;
  }

 private:
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  std::string field() {
    if (take('"')) return quoted();
    const std::size_t length = std::min(text_.find_first_of(",\r\n"), text_.size());
    std::string field(text_.substr(0, length));
    text_.remove_prefix(length);
    return field;
  }

  std::string quoted() {
    std::string field;
    for (;;) {
      const std::size_t quote = text_.find('"');
      if (quote == std::string_view::npos) fail("a quote is not closed");
      field += text_.substr(0, quote);
      text_.remove_prefix(quote + 1);
      if (!take('"')) return field;
      field += '"';
    }
  }

  [[noreturn]] void fail(const char* what) const {
    throw ConfigError(fmt::format("{}:{}: {}", name_, line_, what));
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t line_ = 1;
};

std::string unit_of(const std::string& column) {
  const FixedColumn* known = find_fixed_column(column);
  return known ? known->unit : "";
}

std::string table_line(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

bool begins_like_number(const std::string& cell) {
  const std::size_t sign = cell.starts_with('-') || cell.starts_with('+') ? 1 : 0;
  return cell.size() > sign && cell[sign] >= '0' && cell[sign] <= '9';
}

bool holds_numbers(const Table& table, std::size_t column) {
  return std::ranges::all_of(table.rows, [&](const std::vector<Field>& row) {
    const std::string cell = text_of(row[column]);
    return cell.empty() || begins_like_number(cell);
  });
}

}  // namespace

std::optional<double> number_of(const Field& field) {
  if (const auto* text = std::get_if<std::string>(&field)) {
    const auto number = parsed<double>(*text);
    return number && std::isfinite(*number) ? number : std::nullopt;
  }
  return number_in(field);
}

std::string row_name(const Table& table, std::size_t row) {
  return table.columns.empty() ? "" : text_of(table.rows[row][table.column("key").value_or(0)]);
}

Table parse_recorded_csv(std::string_view text, const std::string& name) {
  CsvReader reader(text, name);
  Table table;
  for (const std::string& column : reader.record())
    table.columns.push_back({column, unit_of(column), FieldType::text, ""});
  while (!reader.at_end()) {
    const std::size_t line = reader.line();
    std::vector<std::string> record = reader.record();
    if (record.size() != table.columns.size())
      throw ConfigError(fmt::format("{}:{}: {} fields; expected {}, as in the header", name, line,
                                    record.size(), table.columns.size()));
    table.rows.emplace_back(record.begin(), record.end());
  }
  return table;
}

std::string recorded_table_text(const Table& table) {
  std::vector<std::string> headings;
  std::vector<std::string> rules;
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    headings.push_back(escape_but_code(table.columns[column].name));
    rules.emplace_back(column > 0 && holds_numbers(table, column) ? "---:" : "---");
  }
  std::string text = table_line(headings) + fmt::format("|{}|\n", fmt::join(rules, "|"));
  for (const std::vector<Field>& row : table.rows) {
    std::vector<std::string> cells;
    for (const Field& field : row)
      cells.push_back(escape_but_code(text_of(field)));
    text += table_line(cells);
  }
  return text;
}

std::string escape_but_code(const std::string& text) {
  std::string result;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t open = text.find('`', begin);
    const std::size_t close =
        open == std::string::npos ? std::string::npos : text.find('`', open + 1);
    if (close == std::string::npos) return result + escape_markdown(text.substr(begin));
    result += escape_markdown(text.substr(begin, open - begin));
    result += text.substr(open, close + 1 - open);
    begin = close + 1;
  }
}

}  // namespace gpuexp
