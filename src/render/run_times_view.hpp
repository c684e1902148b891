#pragma once

#include <optional>

#include "render/view.hpp"
#include "results/report.hpp"

namespace gpuexp {

/// Seconds of the experiments with the longest times, of all other experiments together, and of the
/// run. Empty if the report has no times or is simulated.
std::optional<ExperimentView> run_times_view(const Report& report);

}  // namespace gpuexp
