// CSV by RFC 4180: a header, one line per row, CRLF between lines, quotes only where they are
// needed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/output.hpp"
#include "base/table.hpp"

namespace gpuexp {

/// One record with its line end. Numbers are the shortest text that reads back as the same number;
/// missing and non-finite ones are empty.
std::string csv_line(const std::vector<Field>& fields);

std::string csv_header(const std::vector<ColumnInfo>& columns);

std::string to_csv(const Table& table);

/// The same of rows that are made one by one, in parts: a table of many rows would be in memory
/// twice.
void print_csv(const std::vector<ColumnInfo>& columns, std::size_t rows,
               const std::function<std::vector<Field>(std::size_t row)>& fields_of_row,
               const WritePart& write);

/// Writes rows as they come; each has reached the system when write_row returns, so a crash later
/// loses none. Throws ReportError, naming the file, when the system refuses.
class CsvWriter {
 public:
  /// Writes the header. The output has to outlive the writer.
  CsvWriter(Output& output, const std::vector<ColumnInfo>& columns);

  /// One field per column; throws std::invalid_argument for another count.
  void write_row(const std::vector<Field>& fields);

 private:
  Output& output_;
  std::size_t column_count_;
};

}  // namespace gpuexp
