// Recorded files as tables with named rows: results, and tables of studies.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/table.hpp"

namespace gpuexp {

struct RecordedTable {
  std::string name;
  const Table* table;
};

/// The row's name: its `key`, or its first field if the table has no such column.
std::string row_name(const Table& table, std::size_t row);

/// The field's finite number; accepts a number written as text.
std::optional<double> number_of(const Field& field);

/// Parses CSV according to RFC 4180, with LF or CRLF at the ends of lines. The first record is the
/// header. Fields stay text, and every record has as many fields as the header. A column with the
/// name of a results column has that column's unit. Throws ConfigError "<name>:<line>: …".
Table parse_recorded_csv(std::string_view text, const std::string& name);

std::string recorded_table_text(const Table& table);

/// Escapes markup, except that text in backticks stays code.
std::string escape_but_code(const std::string& text);

}  // namespace gpuexp
