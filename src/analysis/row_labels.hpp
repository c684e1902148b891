// What names an experiment and its rows, for every view of them.
#pragma once

#include <string>
#include <vector>

#include "results/results.hpp"

namespace gpuexp {

/// A column that tells rows of an experiment apart.
struct RowLabel {
  std::string heading;
  ColumnHandle column;
  bool is_number = false;
};

/// "ladder: matmul".
std::string title_of(const ExperimentResults& experiment);

/// What all rows share: "k = 4096", "cold".
std::vector<std::string> shared_facts(const ExperimentResults& experiment);

/// The variant, the parameters that vary, and the mode and the GPU where there are several.
std::vector<RowLabel> row_labels(const ExperimentResults& experiment);

}  // namespace gpuexp
