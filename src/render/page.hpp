// The pages and views that are made of results.
#pragma once

#include <string>
#include <vector>

#include "analysis/least_times.hpp"
#include "render/view_columns.hpp"
#include "results/report.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// With units in headings, for tables that readers sort, predicted times follow measured ones.
std::vector<ExperimentView> views_of(const RecordTable& table, const DeviceRates& rates = {},
                                     TimeUnits units = TimeUnits::cells);

/// The view without its table: what explanations stand under.
ExperimentView heading_of(const ExperimentResults& experiment);

/// "gpuexp 0.1.0", "NVIDIA H200", "driver 580.65.06", …: those that are known.
std::vector<std::string> provenance_facts(const Provenance& provenance);

Page page_of(const Report& report);

/// "12 rows: 10 passed, 2 skipped"; says so when the run was interrupted.
std::string summary_of(const Report& report);

}  // namespace gpuexp
