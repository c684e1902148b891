// Results by experiment. Tables may lack columns: missing values are empty.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "record/record_table.hpp"

namespace gpuexp {

/// A record of a table; the table must outlive the reference.
using RecordRef = std::reference_wrapper<const ResultRecord>;

/// A parameter of an experiment, or several parameters that are equal in every row.
struct ResultAxis {
  std::string label;    ///< "n", or "m = n = k" for sizes swept together
  ColumnHandle column;  ///< the column with its value
  std::string unit;
  bool varies = false;
  bool numeric = false;
};

struct ExperimentResults {
  std::string name;
  const std::vector<RecordColumn>* columns = nullptr;  ///< columns of the rows' table
  std::vector<RecordRef> rows;
  std::vector<ResultAxis> axes;          ///< in the order of the table's columns
  std::vector<ColumnHandle> parameters;  ///< parameters that any row has
  std::vector<ColumnHandle> metrics;     ///< metrics that differ between passed rows

  /// Distinct values of the column in the order in which they first appear, without missing ones.
  std::vector<std::string> values(const ColumnHandle& column) const;
  std::vector<std::string> values(const RecordMember& member) const;
  /// The only value of the column; "" if there are several or none.
  std::string constant(const ColumnHandle& column) const;
  std::string constant(const RecordMember& member) const;
};

/// An experiment of these rows; `columns`, the columns of their table, must outlive it. Only these
/// rows determine `axes` and `metrics`.
ExperimentResults experiment_of(std::string name, const std::vector<RecordColumn>& columns,
                                std::vector<RecordRef> rows);

/// Experiments in the order in which they first appear; they refer to the rows and columns.
std::vector<ExperimentResults> experiments_of(const RecordTable& table);
std::vector<ExperimentResults> experiments_of(const std::vector<RecordColumn>& columns,
                                              const std::vector<RecordRef>& rows);

/// "m = n = k = 4096, cold": parameters and mode that distinguish the row's group within the
/// experiment; "" if none do.
std::string place_of(const ExperimentResults& experiment, const ResultRecord& row);

/// Identifies the row's group: rows with equal parameters, mode and, in merged results, GPU.
std::string group_of(const ExperimentResults& experiment, const ResultRecord& row);

}  // namespace gpuexp
