// Recorded files as tables with named rows: results, and figures of studies of their own.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/table.hpp"

namespace gpuexp {

/// A table, and how messages call it.
struct RecordedTable {
  std::string name;
  const Table* table;
};

/// Its `key` or, in a table without that column, its first field.
std::string row_name(const Table& table, std::size_t row);

/// The finite number that the field is or, as text, says.
std::optional<double> number_of(const Field& field);

/// CSV by RFC 4180, with any line end: a header, then rows of as many fields, which stay text. A
/// column named as one of a run's results has its unit. Throws ConfigError "<name>:<line>: …".
Table parse_recorded_csv(std::string_view text, const std::string& name);

/// The table as Markdown. What stands in backticks is code, all else no markup.
std::string recorded_table_text(const Table& table);

/// Markdown in which what stands in backticks is code, and all else no markup.
std::string escape_but_code(const std::string& text);

}  // namespace gpuexp
