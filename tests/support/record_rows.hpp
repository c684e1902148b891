// Records from rows of fields, as in files.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "record/record_table.hpp"

namespace gpuexp::test {

/// Throws if a column does not allow its field.
inline ResultRecord record_from(const RecordTable& table, const std::vector<Field>& fields) {
  ResultRecord record = table.blank_record();
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (!store(table.columns[c], fields.at(c), record))
      throw std::invalid_argument("column " + table.columns[c].name + " does not allow its field");
  }
  return record;
}

inline RecordTable record_table(const Table& table) {
  RecordTable records(table.columns);
  for (const std::vector<Field>& fields : table.rows)
    records.rows.push_back(record_from(records, fields));
  return records;
}

/// The field of the named column, which must exist.
inline Field field_in(const RecordTable& table, std::size_t row, const std::string& column) {
  for (const RecordColumn& c : table.columns) {
    if (c.name == column) return field_of(c, table.rows.at(row));
  }
  throw std::invalid_argument("no column " + column);
}

}  // namespace gpuexp::test
