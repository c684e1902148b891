// The number of a row that a figure shows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/estimate.hpp"
#include "results/results.hpp"

namespace gpuexp {

struct ChartQuantity {
  std::string label;  ///< with its unit
  std::function<std::optional<Estimate>(const ResultRecord&)> of;
  std::optional<double> reference = {};
};

/// What figures of this kind show, or, where no row has that, the first of rates and times that
/// some have. `kind` is Figure::kind, "" where the family declares no figure.
ChartQuantity chart_quantity(const ExperimentResults& experiment, std::string_view kind);

}  // namespace gpuexp
