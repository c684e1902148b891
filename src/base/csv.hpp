// CSV (RFC 4180): a header, one line per row, CRLF line ends, quotes only where necessary.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/output.hpp"
#include "base/table.hpp"

namespace gpuexp {

/// One record with its line end. Numbers have the shortest text that parses as the same number.
/// Missing and non-finite numbers are empty.
std::string csv_line(const std::vector<Field>& fields);

std::string csv_header(const std::vector<ColumnInfo>& columns);

std::string to_csv(const Table& table);

/// Writes the header and `rows` rows in parts of about kPartBytes. fields_of_row() is called when
/// its row is written, so that a large table is not in memory twice.
void print_csv(const std::vector<ColumnInfo>& columns, std::size_t rows,
               const std::function<std::vector<Field>(std::size_t row)>& fields_of_row,
               const WritePart& write);

/// Writes each row to the operating system before write_row() returns, so that a later crash
/// loses no row. Throws ReportError with the file's name if a write fails.
class CsvWriter {
 public:
  /// Writes the header. The output must outlive the writer.
  CsvWriter(Output& output, const std::vector<ColumnInfo>& columns);

  /// Throws std::invalid_argument unless there is one field per column.
  void write_row(const std::vector<Field>& fields);

 private:
  Output& output_;
  std::size_t column_count_;
};

}  // namespace gpuexp
