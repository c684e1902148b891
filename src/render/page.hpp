// The pages and views that are made of results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "render/view.hpp"
#include "results/report.hpp"
#include "results/results.hpp"

namespace gpuexp {

/// `dram_bytes_per_s`: theoretical, of the device that was measured, where it is known.
std::vector<ExperimentView> views_of(const Table& table,
                                     std::optional<double> dram_bytes_per_s = std::nullopt);

/// The view without its table: what explanations stand under.
ExperimentView heading_of(const ExperimentResults& experiment);

/// "gpuexp 0.1.0", "NVIDIA H200", "driver 580.65.06", …: those that are known.
std::vector<std::string> provenance_facts(const Provenance& provenance);

Page page_of(const Report& report);

/// "12 rows: 10 passed, 2 skipped"; says so when the run was interrupted.
std::string summary_of(const Report& report);

}  // namespace gpuexp
