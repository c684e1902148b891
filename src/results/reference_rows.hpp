// The rows of an experiment to which other rows are compared.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "results/results.hpp"

namespace gpuexp {

/// Rows by family, variant and group. A row lacks the parameters on which its variant does not
/// depend, and is then the reference of rows with any value of them.
class ReferenceRows {
 public:
  /// Only rows for which `is_usable` holds are references. The rows must outlive this object.
  ReferenceRows(const ExperimentResults& experiment,
                const std::function<bool(const ResultRecord&)>& is_usable);

  bool empty() const { return rows_.empty(); }
  /// The row of `variant` with the parameters, mode and GPU of `row`; null if there is none.
  const ResultRecord* find(const std::string& variant, const ResultRecord& row) const;

 private:
  std::string key(const std::string& variant, const ResultRecord& row) const;
  bool lacks_parameters(const ResultRecord& row) const;
  bool is_reference(const ResultRecord& reference, const ResultRecord& row) const;

  const ExperimentResults& experiment_;
  std::map<std::string, RecordRef> rows_;
  std::vector<RecordRef> with_fewer_parameters_;
};

}  // namespace gpuexp
