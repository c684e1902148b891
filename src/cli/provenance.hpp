// Where a run's results come from: program, machine, device, config and what was in force.
#pragma once

#include <ctime>
#include <string>

#include "cli/app.hpp"
#include "gpu/device_query.hpp"
#include "plan/plan.hpp"
#include "results/report.hpp"

namespace gpuexp::cli {

Provenance provenance_of(const Context& context, const Plan& plan, const DeviceInfo& device,
                         std::time_t started);

/// What the linker put into this executable to tell it from every other; empty when it did not.
std::string build_id();

}  // namespace gpuexp::cli
