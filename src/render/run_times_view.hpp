// Where the time of a run went, as a table.
#pragma once

#include <optional>

#include "render/view.hpp"
#include "results/report.hpp"

namespace gpuexp {

/// Seconds of the experiments that took longest, of all others together, and of the run. Empty
/// where the report does not say, and of simulated runs, whose pages have no measured times.
std::optional<ExperimentView> run_times_view(const Report& report);

}  // namespace gpuexp
