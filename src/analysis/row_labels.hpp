#pragma once

#include <string>
#include <vector>

#include "results/results.hpp"

namespace gpuexp {

/// A column that distinguishes rows of an experiment.
struct RowLabel {
  std::string heading;
  ColumnHandle column;
  bool is_number = false;
};

/// "ladder: matmul".
std::string title_of(const ExperimentResults& experiment);

std::vector<std::string> shared_facts(const ExperimentResults& experiment);

/// The variant, the parameters that vary, and mode and GPU if they vary.
std::vector<RowLabel> row_labels(const ExperimentResults& experiment);

}  // namespace gpuexp
