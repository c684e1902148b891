// Results by experiment. Every question has an answer for every table: what a column does not say
// is empty.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "record/record_table.hpp"

namespace gpuexp {

/// A record of a table that outlives whoever refers to it.
using RecordRef = std::reference_wrapper<const ResultRecord>;

/// A parameter of an experiment, or several that agree in every row.
struct ResultAxis {
  std::string label;    ///< "n", or "m = n = k" for sizes swept together
  ColumnHandle column;  ///< where its value is
  std::string unit;
  bool varies = false;
  bool numeric = false;
};

struct ExperimentResults {
  std::string name;
  const std::vector<RecordColumn>* columns = nullptr;  ///< of the table that the rows are of
  std::vector<RecordRef> rows;
  std::vector<ResultAxis> axes;          ///< in the order of the table's columns
  std::vector<ColumnHandle> parameters;  ///< that any row has
  std::vector<ColumnHandle> metrics;     ///< that differ between passed rows

  /// The values of the column in the order in which they first appear, without missing ones.
  std::vector<std::string> values(const ColumnHandle& column) const;
  std::vector<std::string> values(const RecordMember& member) const;
  /// The one value that all rows which have any share; "" when there are several or none.
  std::string constant(const ColumnHandle& column) const;
  std::string constant(const RecordMember& member) const;
};

/// Rows under one name; `columns`, those of their table, outlive this. What is in `axes` and
/// `metrics` follows from these rows alone.
ExperimentResults experiment_of(std::string name, const std::vector<RecordColumn>& columns,
                                std::vector<RecordRef> rows);

/// In the order in which experiments first appear; refer to the rows and columns.
std::vector<ExperimentResults> experiments_of(const RecordTable& table);
std::vector<ExperimentResults> experiments_of(const std::vector<RecordColumn>& columns,
                                              const std::vector<RecordRef>& rows);

/// "m = n = k = 4096, cold": what distinguishes the row's group from others of the experiment; ""
/// when nothing does.
std::string place_of(const ExperimentResults& experiment, const ResultRecord& row);

/// Equal for rows that share all parameters, the mode and, in merged results, the GPU.
std::string group_of(const ExperimentResults& experiment, const ResultRecord& row);

}  // namespace gpuexp
