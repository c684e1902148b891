#pragma once

#include <string>
#include <vector>

#include "analysis/least_times.hpp"
#include "render/view_columns.hpp"
#include "results/report.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// One view per experiment. If units are in headings (for sortable tables), predicted times and
/// their errors follow the measured values.
std::vector<ExperimentView> views_of(const RecordTable& table, const DeviceRates& rates = {},
                                     TimeUnits units = TimeUnits::cells);

/// The view without its table: the heading over explanations.
ExperimentView heading_of(const ExperimentResults& experiment);

/// The known facts: "gpuexp 0.1.0", "NVIDIA H200", "driver 580.65.06", …
std::vector<std::string> provenance_facts(const Provenance& provenance);

Page page_of(const Report& report);

/// "12 rows: 10 passed, 2 skipped", with a note if the run did not finish.
std::string summary_of(const Report& report);

}  // namespace gpuexp
