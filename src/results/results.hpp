#pragma once

#include <functional>
#include <string>
#include <vector>

#include "record/record_table.hpp"

namespace gpuexp {

using RecordRef = std::reference_wrapper<const ResultRecord>;

/// A parameter of an experiment, or several parameters with equal values in every row.
struct ResultAxis {
  std::string label;    ///< "n", or "m = n = k" for sizes swept together
  ColumnHandle column;  ///< column of the parameter, or of the first of several
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
  /// Metrics that differ between passed rows, or that only some of them have.
  std::vector<ColumnHandle> metrics;

  /// The column's distinct values without missing ones, in order of first appearance.
  std::vector<std::string> values(const ColumnHandle& column) const;
  std::vector<std::string> values(const RecordMember& member) const;
  /// The column's only value; "" if it has several values or none.
  std::string constant(const ColumnHandle& column) const;
  std::string constant(const RecordMember& member) const;
};

/// The experiment with these rows; only these rows determine `axes` and `metrics`. `columns`, the
/// columns of their table, must outlive the experiment.
ExperimentResults experiment_of(std::string name, const std::vector<RecordColumn>& columns,
                                std::vector<RecordRef> rows);

/// Experiments in order of first appearance. They refer to rows and columns of the table, which
/// must outlive them.
std::vector<ExperimentResults> experiments_of(const RecordTable& table);
std::vector<ExperimentResults> experiments_of(const std::vector<RecordColumn>& columns,
                                              const std::vector<RecordRef>& rows);

/// "m = n = k = 4096, cold": parameters, mode and (in merged results) GPU that distinguish the
/// row's group within the experiment; "" if the experiment has one group.
std::string place_of(const ExperimentResults& experiment, const ResultRecord& row);

/// Identifier of the row's group: rows with equal parameters, equal mode and, in merged results,
/// equal GPU.
std::string group_of(const ExperimentResults& experiment, const ResultRecord& row);

}  // namespace gpuexp
