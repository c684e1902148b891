// Recorded files as tables with named rows: results, and figures of studies.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/table.hpp"

namespace gpuexp {

/// A table and its name in messages.
struct RecordedTable {
  std::string name;
  const Table* table;
};

/// The name of a row: its `key` or, without that column, its first field.
std::string row_name(const Table& table, std::size_t row);

/// The finite number of the field, which may be a number as text.
std::optional<double> number_of(const Field& field);

/// Parses CSV by RFC 4180, with any line end: a header, then rows with as many fields, which stay
/// text. A column named like a column of results has its unit. Throws ConfigError "<name>:<line>:
/// …".
Table parse_recorded_csv(std::string_view text, const std::string& name);

/// The table as Markdown. Text in backticks is code; other markup is escaped.
std::string recorded_table_text(const Table& table);

/// Markdown in which text in backticks is code and other markup is escaped.
std::string escape_but_code(const std::string& text);

}  // namespace gpuexp
